#!/bin/bash
# Buildroot calls this last: makes the stick's image.   post-image.sh IMAGES_DIR
set -euo pipefail

images=$1
board=$(cd "$(dirname "$0")" && pwd)
external=$(cd "$board/../.." && pwd)
# shellcheck source=/dev/null
. "$external/meta"
stage=$BUILD_DIR/benchstick-stage

# What the FAT partition holds. Its system files are those in EFI/ and benchstick/ (stick.cfg apart,
# which the stick writes itself), README.txt and the licences; the rest belongs to whoever owns the
# stick.
stage_fat() {
	mkdir -p "$stage/fat/EFI/BOOT" "$stage/fat/benchstick" "$stage/fat/recipes" \
		"$stage/fat/reports"
	cp "$images/efi-part/EFI/BOOT/bootx64.efi" "$stage/fat/EFI/BOOT/bootx64.efi"
	cp "$images/bzImage" "$images/initramfs.cpio" "$board/grub.cfg" "$stage/fat/benchstick/"
	cp "$board/stick/benchstick.toml" "$board/stick/README.txt" "$stage/fat/"
	cp "$BASE_DIR/benchstick.spdx.json" "$stage/fat/licences.spdx.json"
	# What the two folders are for.
	cp "$board/stick/recipes.txt" "$stage/fat/recipes/README.txt"
	cp "$board/stick/reports.txt" "$stage/fat/reports/README.txt"
}

# The initramfs: the packed root, and just enough to mount it (see initramfs-init).
make_initramfs() {
	local root=$stage/initramfs
	mkdir -p "$root"/{bin,sbin,lib,dev,proc,squash,memory,new}
	cp "$TARGET_DIR/bin/busybox" "$root/bin/"
	cp "$TARGET_DIR/lib/libc.so" "$root/lib/ld-musl-x86_64.so.1"
	ln -s busybox "$root/bin/sh"
	install -m 755 "$board/initramfs-init" "$root/init"
	cp "$images/rootfs.squashfs" "$root/root.squashfs"
	(cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$images/initramfs.cpio"
}

stage_loader() {
	local boot_img=("$BUILD_DIR"/grub2-*/build-i386-pc/grub-core/boot.img)
	cp "${boot_img[0]}" "$images/grub.img" "$stage/input/"
}

fill_in() {
	sed -e "s/@FAT_LABEL@/$FAT_LABEL/" -e "s/@DATA_LABEL@/$DATA_LABEL/" \
		-e "s/@IMAGE_NAME@/$IMAGE_NAME/" -e "s/@DISK_SIGNATURE@/$DISK_SIGNATURE/" \
		"$board/genimage.cfg" >"$stage/genimage.cfg"
}

rm -rf "$stage"
mkdir -p "$stage/input" "$stage/tmp"
make_initramfs
stage_fat
stage_loader
fill_in
genimage --config "$stage/genimage.cfg" --rootpath "$stage/fat" --tmppath "$stage/tmp/genimage" \
	--inputpath "$stage/input" --outputpath "$images"
rm -rf "$stage"
