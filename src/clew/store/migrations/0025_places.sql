-- Files are written whole, so a place needs no bytes, and its line is exact without adding shifts.

UPDATE place SET at_line = at_line + COALESCE((SELECT SUM(shift.lines) FROM shift
    WHERE shift.workspace = place.workspace AND shift.file = place.file AND shift.ordinal < place.ordinal), 0);
DROP TABLE shift;
ALTER TABLE place DROP COLUMN at_byte;
ALTER TABLE place DROP COLUMN bytes;
ALTER TABLE block_file DROP COLUMN bytes;
ALTER TABLE block_file DROP COLUMN lines;
