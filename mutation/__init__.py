"""Would the suite notice? Plants each fault of the catalogue and reads which tests fail, and how."""
