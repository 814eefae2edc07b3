package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxConfig bounds the size of a configuration file in bytes.
const maxConfig = 1 << 20

// places are where the values of a configuration file stand, as file:line:column, by their keys.
type places map[string]string

// readConfig reads the YAML file at path into the struct that into points to.
// An unknown field, a wrong type or a duplicate key is bad input that names
// file, line and column; so is a file larger than maxConfig.
func readConfig(path string, into any) (places, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, badInputf("%w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return nil, badInputf("%w", err)
	}
	if len(text) > maxConfig {
		return nil, badInputf("%s: longer than %s", path, size(maxConfig))
	}
	if err := yaml.UnmarshalWithOptions(text, into, yaml.Strict()); err != nil {
		return nil, badInputf("%s: %w", place(path, err), errors.New(message(err)))
	}
	return findPlaces(path, text), nil
}

// findPlaces looks up where the values of the file's keys stand. The file has been read without
// an error.
func findPlaces(path string, text []byte) places {
	found := places{}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return found
	}
	for _, doc := range file.Docs {
		mapping, ok := doc.Body.(*ast.MappingNode)
		if !ok {
			continue
		}
		for _, v := range mapping.Values {
			found[v.Key.GetToken().Value] = at(path, v.Value.GetToken())
		}
	}
	return found
}

func at(path string, t *token.Token) string {
	return fmt.Sprintf("%s:%d:%d", path, t.Position.Line, t.Position.Column)
}

// place is where in the file the YAML library found the error.
func place(path string, err error) string {
	var found yaml.Error
	if errors.As(err, &found) && found.GetToken() != nil {
		return at(path, found.GetToken())
	}
	return path
}

// message says what is wrong in the words of those who write such files.
func message(err error) string {
	var kind *yaml.TypeError
	var large *yaml.OverflowError
	var found yaml.Error
	switch {
	case errors.As(err, &kind):
		return notA(kind.Token, kind.DstType)
	case errors.As(err, &large):
		return notA(large.Token, large.DstType)
	case errors.As(err, &found):
		return found.GetMessage()
	}
	return err.Error()
}

// notA says that a value is not of the type that its key wants.
func notA(t *token.Token, wanted reflect.Type) string {
	for wanted.Kind() == reflect.Pointer {
		wanted = wanted.Elem()
	}
	value := "the value"
	if t != nil && t.Value != "" {
		value = fmt.Sprintf("%q", t.Value)
	}
	return value + " is not " + inWords(wanted)
}

// inWords names a type for people.
func inWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "text"
	}
	return flagWords(t.Kind().String())
}
