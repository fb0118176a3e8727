################################################################################
#
# What "make legal-info" needs with SOURCES=debian. Read behind overrides.make and
# kept apart from it: nothing here changes what is built, so nothing is built anew
# when it changes.
#
################################################################################

# gcc: for the target nothing is unpacked but the tarball around the tarball.
define BENCHSTICK_GCC_FINAL_LICENSE
	$(TAR) -C $(GCC_FINAL_DIR) --strip-components=1 \
		-xf $(GCC_FINAL_DIR)/gcc-$(GCC_VERSION)-dfsg.tar.xz \
		gcc-$(GCC_VERSION)/COPYING.RUNTIME
endef
GCC_FINAL_PRE_LEGAL_INFO_HOOKS += BENCHSTICK_GCC_FINAL_LICENSE

# sqlite: the full tree has no tea/, which is where the amalgamation keeps it.
override SQLITE_LICENSE_FILES := LICENSE.md
