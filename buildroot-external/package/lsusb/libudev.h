/* What lsusb asks of libudev, for a system without its hardware database: no names.  lsusb then
 * shows those that the devices give themselves. */
#ifndef LSUSB_LIBUDEV_H
#define LSUSB_LIBUDEV_H

#include <stddef.h>

struct udev { int unused; };
struct udev_hwdb { int unused; };
struct udev_list_entry { int unused; };

static struct udev lsusb_udev;
static struct udev_hwdb lsusb_hwdb;

static inline struct udev *udev_new(void)
{
	return &lsusb_udev;
}

static inline struct udev *udev_unref(struct udev *udev)
{
	(void)udev;
	return NULL;
}

static inline struct udev_hwdb *udev_hwdb_new(struct udev *udev)
{
	(void)udev;
	return &lsusb_hwdb;
}

static inline struct udev_hwdb *udev_hwdb_unref(struct udev_hwdb *hwdb)
{
	(void)hwdb;
	return NULL;
}

static inline struct udev_list_entry *udev_hwdb_get_properties_list_entry(
	struct udev_hwdb *hwdb, const char *modalias, unsigned int flags)
{
	(void)hwdb;
	(void)modalias;
	(void)flags;
	return NULL;
}

static inline const char *udev_list_entry_get_name(struct udev_list_entry *entry)
{
	(void)entry;
	return "";
}

static inline const char *udev_list_entry_get_value(struct udev_list_entry *entry)
{
	(void)entry;
	return "";
}

#define udev_list_entry_foreach(entry, first) for (entry = (first); entry != NULL; entry = NULL)

#endif
