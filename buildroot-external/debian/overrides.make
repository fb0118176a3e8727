################################################################################
#
# What SOURCES=debian needs beside other versions and file names: Debian's files
# are upstream's, but some are git trees instead of releases, some lack manuals,
# and some of Buildroot's host tools cannot be had, so that this machine's own
# are used. Read before any package (BR2_PACKAGE_OVERRIDE_FILE); "override" keeps
# the package's own line from having the last word.
#
################################################################################

# A place without patches, for packages whose version Buildroot's do not fit.
BENCHSTICK_NO_PATCHES = $(BENCHSTICK_GENERATED)/no-patches/

# gcc: a tarball in a tarball. Its manuals are stubs, so the check that tm.texi is up to date is a
# plain stamp.
define BENCHSTICK_GCC_UNPACK
	$(TAR) -C $(@D) --strip-components=1 -xf $(@D)/gcc-$(GCC_VERSION)-dfsg.tar.xz
	rm -f $(@D)/*.tar.xz
	$(SED) '/^s-tm-texi: build/,/^$$/{/^\t/d;s/^\(s-tm-texi: .*\)/\1\n\t$$(STAMP) $$@/}' \
		$(@D)/gcc/Makefile.in
endef
HOST_GCC_INITIAL_POST_EXTRACT_HOOKS += BENCHSTICK_GCC_UNPACK
HOST_GCC_FINAL_POST_EXTRACT_HOOKS += BENCHSTICK_GCC_UNPACK

# gmp: no manual, so no doc/ either, which its Makefile goes into.
define BENCHSTICK_GMP_DOC
	mkdir -p $(@D)/doc
	touch $(@D)/doc/Makefile.am
endef
GMP_POST_EXTRACT_HOOKS += BENCHSTICK_GMP_DOC
HOST_GMP_POST_EXTRACT_HOOKS += BENCHSTICK_GMP_DOC

# musl-compat-headers: this machine's sys/queue.h instead of NetBSD's.
override MUSL_COMPAT_HEADERS_EXTRA_DOWNLOADS :=
override define MUSL_COMPAT_HEADERS_EXTRACT_CMDS
	$(INSTALL) -m 0644 -D \
		/usr/include/$(shell gcc -print-multiarch)/sys/queue.h $(@D)/queue.h
	$(INSTALL) -m 0644 -D $(MUSL_COMPAT_HEADERS_PKGDIR)/cdefs.h $(@D)/cdefs.h
endef

# pkgconf: the tree lies inside PyPI's sdist, without a configure script.
PKGCONF_AUTORECONF = YES
define HOST_PKGCONF_EXTRACT_CMDS
	$(TAR) -C $(@D) --strip-components=3 -xf $(HOST_PKGCONF_DL_DIR)/$(PKGCONF_SOURCE) \
		--wildcards '*/subprojects/pkgconf/*'
endef

# Git trees without a configure script
override EXPAT_SUBDIR := expat
override EXPAT_AUTORECONF := YES
override KMOD_PKGDIR := $(BENCHSTICK_NO_PATCHES)
override HOST_KMOD_PKGDIR := $(BENCHSTICK_NO_PATCHES)
override KMOD_AUTORECONF := YES
define BENCHSTICK_KMOD_NO_GTK_DOC
	touch $(@D)/libkmod/docs/gtk-doc.make
endef
HOST_KMOD_POST_EXTRACT_HOOKS += BENCHSTICK_KMOD_NO_GTK_DOC
override LIBCAP_NG_AUTORECONF := YES
define BENCHSTICK_LIBCAP_NG_NEWS
	touch $(@D)/NEWS
endef
LIBCAP_NG_POST_EXTRACT_HOOKS += BENCHSTICK_LIBCAP_NG_NEWS
override NTFS_3G_AUTORECONF := YES
# Its configure asks for libgcrypt's macro even when encryption is off.
define BENCHSTICK_NTFS_3G_NO_LIBGCRYPT
	mkdir -p $(@D)/m4
	echo 'AC_DEFUN([AM_PATH_LIBGCRYPT],[$$3])' > $(@D)/m4/libgcrypt.m4
endef
NTFS_3G_POST_EXTRACT_HOOKS += BENCHSTICK_NTFS_3G_NO_LIBGCRYPT

# e2fsprogs: the configure script that it ships; making a new one wants gettext-tiny.
override E2FSPROGS_PKGDIR := $(BENCHSTICK_NO_PATCHES)
override E2FSPROGS_AUTORECONF := NO
override E2FSPROGS_DEPENDENCIES := host-pkgconf host-skeleton skeleton toolchain util-linux

# sqlite: the full tree in the place of the amalgamation.
SQLITE_CONF_OPTS = --disable-tcl

# libnvme: without the Python binding, which wants swig, and without keys for fabrics.
override LIBNVME_DEPENDENCIES := host-meson host-pkgconf host-skeleton json-c skeleton toolchain
override LIBNVME_CONF_OPTS := -Dexamples=false -Dtests=false -Dpython=disabled \
	-Dopenssl=disabled -Djson-c=enabled -Dkeyutils=disabled

# Python 3.13: Buildroot's patches are for 3.14.
override PYTHON3_VERSION_MAJOR := 3.13
override PYTHON3_PKGDIR := $(BENCHSTICK_NO_PATCHES)
override HOST_PYTHON3_PKGDIR := $(BENCHSTICK_NO_PATCHES)

# This machine's own bison, flex and gawk instead of those that Buildroot would build.
override GRUB2_DEPENDENCIES := host-grub2 host-skeleton skeleton toolchain
override HOST_GRUB2_DEPENDENCIES := host-skeleton

# fakeroot: this machine's own. (Without a version there is nothing to fetch.)
override FAKEROOT_VERSION :=
override FAKEROOT_SOURCE :=
override FAKEROOT_SITE :=
override HOST_FAKEROOT_DEPENDENCIES := host-skeleton
define HOST_FAKEROOT_CONFIGURE_CMDS
	command -v fakeroot
endef
define HOST_FAKEROOT_BUILD_CMDS
	:
endef
define HOST_FAKEROOT_INSTALL_CMDS
	mkdir -p $(HOST_DIR)/bin
	ln -snf $$(command -v fakeroot) $(HOST_DIR)/bin/fakeroot
endef

# patchelf: Buildroot's has an option of its own that makes a toolchain movable. Nobody moves this
# one: a stand-in leaves every file as it is. (What it would have taken out of the target, paths of
# the build folder in RPATHs, board/x86_64/post-build.sh takes out.)
override PATCHELF_VERSION :=
override PATCHELF_SOURCE :=
override PATCHELF_SITE :=
override HOST_PATCHELF_PKGDIR := $(BENCHSTICK_NO_PATCHES)
override HOST_PATCHELF_DEPENDENCIES := host-skeleton
define HOST_PATCHELF_CONFIGURE_CMDS
	:
endef
define HOST_PATCHELF_BUILD_CMDS
	:
endef
define HOST_PATCHELF_INSTALL_CMDS
	$(INSTALL) -D -m 0755 $(BR2_EXTERNAL_BENCHSTICK_PATH)/debian/patchelf \
		$(HOST_DIR)/bin/patchelf
endef

# squashfs: this machine's own mksquashfs.
override SQUASHFS_VERSION :=
override SQUASHFS_SOURCE :=
override SQUASHFS_SITE :=
override HOST_SQUASHFS_DEPENDENCIES := host-skeleton
override define HOST_SQUASHFS_BUILD_CMDS
	command -v mksquashfs
endef
override define HOST_SQUASHFS_INSTALL_CMDS
	mkdir -p $(HOST_DIR)/bin
	ln -snf $$(command -v mksquashfs) $(HOST_DIR)/bin/mksquashfs
endef

# mkpasswd: with this machine's libcrypt.
override HOST_MKPASSWD_DEPENDENCIES := host-skeleton
