-- What a record that was withdrawn gets back when it is restored: the status before, and the seq of its return.
ALTER TABLE retraction ADD COLUMN was TEXT;
ALTER TABLE retraction ADD COLUMN lifted_seq BIGINT;
