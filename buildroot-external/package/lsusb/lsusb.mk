################################################################################
#
# lsusb
#
################################################################################

LSUSB_VERSION = 014
LSUSB_SOURCE = usbutils-$(LSUSB_VERSION).tar.xz
LSUSB_SITE = $(BR2_KERNEL_MIRROR)/linux/utils/usb/usbutils
LSUSB_DEPENDENCIES = libusb
LSUSB_LICENSE = GPL-2.0+
LSUSB_LICENSE_FILES = LICENSES/GPL-2.0-only.txt

# udev is wanted for names alone: libudev.h of this folder knows none.
define LSUSB_BUILD_CMDS
	touch $(@D)/config.h
	$(TARGET_CC) $(TARGET_CFLAGS) $(TARGET_LDFLAGS) -std=gnu99 \
		-DHAVE_BYTESWAP_H -DHAVE_ICONV -DHAVE_NL_LANGINFO \
		-DPACKAGE='"usbutils"' -DVERSION='"$(LSUSB_VERSION)"' \
		-I$(LSUSB_PKGDIR) -I$(STAGING_DIR)/usr/include/libusb-1.0 \
		-o $(@D)/lsusb $(addprefix $(@D)/, lsusb.c lsusb-t.c desc-defs.c \
		desc-dump.c names.c sysfs.c usbmisc.c) -lusb-1.0
endef

define LSUSB_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/lsusb $(TARGET_DIR)/usr/bin/lsusb
endef

$(eval $(generic-package))
