DROP TABLE persona_choices;
