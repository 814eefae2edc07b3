package main

import "errors"

type builder struct{ threads int }

func (b builder) build(row, variant string) (runner, error) {
	return nil, errors.New("no engine yet")
}
