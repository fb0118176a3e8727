-- Recipes that were uploaded in the page, by name. The page's own table.
CREATE TABLE recipes (
    name        TEXT PRIMARY KEY,
    text        TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;
