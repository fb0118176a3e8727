################################################################################
#
# The checks that nothing wanted got lost on the way to the .config files:
# a driver that Kconfig dropped is a drive that the stick does not see.
#
################################################################################

BENCHSTICK_CHECK_CONFIG = $(BR2_EXTERNAL_BENCHSTICK_PATH)/scripts/check-config

define BENCHSTICK_CHECK_LINUX
	$(BENCHSTICK_CHECK_CONFIG) $(@D)/.config \
		$(call qstrip,$(BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES))
endef
LINUX_PRE_BUILD_HOOKS += BENCHSTICK_CHECK_LINUX

define BENCHSTICK_CHECK_BUSYBOX
	$(BENCHSTICK_CHECK_CONFIG) $(@D)/.config \
		$(call qstrip,$(BR2_PACKAGE_BUSYBOX_CONFIG_FRAGMENT_FILES))
endef
BUSYBOX_PRE_BUILD_HOOKS += BENCHSTICK_CHECK_BUSYBOX

include $(sort $(wildcard $(BR2_EXTERNAL_BENCHSTICK_PATH)/package/*/*.mk))
