package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"
)

// maxConfig bounds the size of a configuration file in bytes.
const maxConfig = 1 << 20

// readConfig reads the YAML file at path into the struct that into points to.
// An unknown field, a wrong type or a duplicate key is bad input that names
// file, line and column; so is a file larger than maxConfig.
func readConfig(path string, into any) error {
	file, err := os.Open(path)
	if err != nil {
		return badInputf("%w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return badInputf("%w", err)
	}
	if len(text) > maxConfig {
		return badInputf("%s: longer than %s", path, size(maxConfig))
	}
	if err := yaml.UnmarshalWithOptions(text, into, yaml.Strict()); err != nil {
		return badInputf("%s: %w", place(path, err), errors.New(message(err)))
	}
	return nil
}

// place is where in the file the YAML library found the error.
func place(path string, err error) string {
	var found yaml.Error
	if errors.As(err, &found) && found.GetToken() != nil {
		at := found.GetToken().Position
		return fmt.Sprintf("%s:%d:%d", path, at.Line, at.Column)
	}
	return path
}

func message(err error) string {
	var found yaml.Error
	if errors.As(err, &found) {
		return found.GetMessage()
	}
	return err.Error()
}
