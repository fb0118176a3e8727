"""The barcode scanner: the kernel's input device and its keymap."""
