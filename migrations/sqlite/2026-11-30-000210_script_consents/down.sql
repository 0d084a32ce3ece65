DROP TABLE script_consents;
