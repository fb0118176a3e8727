#!/bin/bash
# Buildroot calls this when all packages are installed: puts the bench into the target tree and takes
# out what nothing here uses.   post-build.sh TARGET_DIR
set -euo pipefail

target=$1
board=$(cd "$(dirname "$0")" && pwd)
external=$(cd "$board/../.." && pwd)
project=$(cd "$external/.." && pwd)
# shellcheck source=/dev/null
. "$external/meta"
readelf=$HOST_DIR/bin/x86_64-linux-readelf
python_lib=$(echo "$target"/usr/lib/python3.*)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$project/pyproject.toml")
vendor=$project/webui/static/vendor

die() {
	echo "post-build: error: $*" >&2
	exit 1
}

check_front_end() {
	local file
	for file in uPlot.esm.js uPlot.min.css; do
		[ -s "$vendor/$file" ] ||
			die "$vendor/$file is missing: the page's charts need it; run: make image"
	done
}

install_bench() {
	local home=$target/usr/lib/benchstick part
	rm -rf "$home"
	mkdir -p "$home"
	for part in benchstick webui docs; do
		rsync -a --chmod=D755,F644 --exclude=__pycache__ --exclude=/docs/images \
			"$project/$part" "$home/"
	done
	# Not checked against their sources at each import: an image has no newer ones.
	"$HOST_DIR/bin/python3" -m compileall -q -s "$target" -p / \
		--invalidation-mode unchecked-hash "$home/benchstick" "$home/webui"
	echo /usr/lib/benchstick >"$python_lib/site-packages/benchstick.pth"
	cat >"$target/usr/bin/benchstick" <<-'PYTHON'
		#!/usr/bin/python3
		import sys

		from benchstick.cli import main

		sys.exit(main())
	PYTHON
	chmod 755 "$target/usr/bin/benchstick"
}

# What scripts/image wrote before the build; `benchstick licences` and the page read it.
install_licences() {
	[ -s "$BASE_DIR/benchstick.spdx.json" ] ||
		die "$BASE_DIR/benchstick.spdx.json is missing: scripts/image writes it; run: make image"
	install -D -m 644 "$BASE_DIR/benchstick.spdx.json" "$target/usr/share/benchstick/spdx.json"
}

strip_python() {
	local part
	for part in ensurepip idlelib lib2to3 pydoc_data test tkinter turtledemo turtle.pyc pydoc.pyc \
		doctest.pyc site-packages/avahi site-packages/_distutils_hack; do
		rm -rf "${python_lib:?}/$part"
	done
	# Buildroot leaves the compiled files beside where the sources were; these are the second copy.
	find "$python_lib" -depth -type d -name __pycache__ -exec rm -rf {} +
	find "$python_lib" -depth -type d -name 'config-3*' -exec rm -rf {} +
}

strip_rest() {
	# smartd would query drives while they are timed. What lies in /boot is on the FAT partition.
	rm -rf "${target:?}"/boot "$target"/etc/init.d/S* "$target"/usr/sbin/{smartd,update-smart-drivedb} \
		"$target"/etc/smartd* "$target"/usr/share/{locale,bash-completion,aclocal,gdb} \
		"$target"/usr/lib/{pkgconfig,girepository-1.0} "$target"/etc/avahi/services/* \
		"$target"/usr/bin/{avahi-*,bssh,bvnc,sqlite3,openssl}
	cp "$project/overlay/etc/avahi/services/"* "$target/etc/avahi/services/"
}

# Buildroot's Flask asks for Python's TLS and so for OpenSSL. The page is plain HTTP, hashlib has hashes
# of its own, and what lies in the root lies in RAM. scripts/image.d/licences.py leaves it out as well.
strip_openssl() {
	local file
	rm -rf "$python_lib"/lib-dynload/{_ssl,_hashlib}.*.so "$target"/usr/lib/{ossl-modules,engines-3} \
		"$target"/usr/lib/lib{ssl,crypto}.so* "$target"/etc/ssl
	find "$target" -type f \( -perm /111 -o -name '*.so*' \) | while read -r file; do
		if "$readelf" -d "$file" 2>/dev/null | grep -qE 'NEEDED.*lib(ssl|crypto)\.'; then
			die "$file needs OpenSSL, which is taken out here"
		fi
	done
}

# A path of the build folder in a program would be searched for libraries, wherever it runs. Buildroot's
# patchelf has taken such paths out already; with SOURCES=debian it is a stand-in, and Debian's does it.
clean_rpaths() {
	local file
	find "$target" -type f \( -perm /111 -o -name '*.so*' \) | while read -r file; do
		if "$readelf" -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH' | grep -q "$BASE_DIR"; then
			PATH=/usr/bin:$PATH patchelf --remove-rpath "$file" || die "$file keeps its RPATH"
		fi
	done
}

# The initramfs calls `busybox mount` and `busybox umount`; nothing else starts an applet by busybox.
check_applets() {
	local links=("$BUILD_DIR"/busybox-*/busybox.links)
	[ ${#links[@]} = 1 ] || die "several busybox builds in $BUILD_DIR: ${links[*]}"
	"$external/scripts/check-applets" "$target" "${links[0]}" mount umount ||
		die "a busybox applet shadows another program"
}

write_release() {
	{
		echo "NAME=Benchstick"
		echo "ID=benchstick"
		echo "VERSION_ID=$version"
		echo "PRETTY_NAME=\"Benchstick $version\""
		echo "BUILDROOT_VERSION=$BUILDROOT_VERSION"
		echo "BUILD_ID=$(git -C "$project" describe --always --dirty 2>/dev/null || echo unknown)"
	} >"$target/usr/lib/os-release"
	echo "$IMAGE_HOSTNAME" >"$target/etc/hostname"
}

check_front_end
strip_python
strip_rest
strip_openssl
install_bench
install_licences
clean_rpaths
check_applets
write_release
