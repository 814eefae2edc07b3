package nn

import (
	"fmt"
	"strings"
	"unicode"
)

// order lists the calls that the outputs need, each after its operands.
func (m *Model) order() error {
	done := map[*call]bool{}
	for _, n := range m.inputs {
		if n == nil || n.call.input == nil {
			return m.errorf("an input was not made with Input or Indices")
		}
		if done[n.call] {
			return m.errorf("input %q is listed twice", n.call.input.name)
		}
		m.calls = append(m.calls, n.call)
		done[n.call] = true
	}
	for _, n := range m.outputs {
		if err := m.visit(n, done); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) visit(n *Node, done map[*call]bool) error {
	if n == nil {
		return m.errorf("a layer is applied to nothing, or an output is nothing")
	}
	if done[n.call] {
		return nil
	}
	if n.call.input != nil {
		return m.errorf("it uses input %q but does not list it", n.call.input.name)
	}
	done[n.call] = true
	for _, p := range n.call.in {
		if err := m.visit(p, done); err != nil {
			return err
		}
	}
	m.calls = append(m.calls, n.call)
	return nil
}

// nameAll names every input, layer and application: a layer has its own name, or kind_N with
// the first N that is free; its second application is called name#2, and so on.
func (m *Model) nameAll() error {
	m.names, m.layers = map[*call]string{}, map[*Layer]string{}
	if err := checkName(m.Name); err != nil {
		return m.errorf("%w", err)
	}
	owner := map[string]any{}
	for _, c := range m.calls {
		if err := m.claim(owner, c); err != nil {
			return err
		}
	}
	count, uses := map[string]int{}, map[*Layer]int{}
	for _, c := range m.calls {
		if c.input != nil {
			m.names[c] = c.input.name
			continue
		}
		for m.layers[c.layer] == "" {
			stem := stem(c.layer.Spec)
			count[stem]++
			if name := fmt.Sprintf("%s_%d", stem, count[stem]); owner[name] == nil {
				m.layers[c.layer], owner[name] = name, c.layer
			}
		}
		m.names[c] = m.layers[c.layer]
		if uses[c.layer]++; uses[c.layer] > 1 {
			m.names[c] += fmt.Sprintf("#%d", uses[c.layer])
		}
	}
	return nil
}

// claim notes the name that an input or layer was given.
func (m *Model) claim(owner map[string]any, c *call) error {
	name, who := "", any(c)
	if c.input != nil {
		name = c.input.name
	} else if c.layer.Spec == nil {
		return m.errorf("layer %q has no spec", c.layer.Name)
	} else if name, who = c.layer.Name, c.layer; name == "" {
		return nil
	}
	if err := checkName(name); err != nil {
		return m.errorf("%w", err)
	}
	if before, taken := owner[name]; taken && before != who {
		return m.errorf("two layers or inputs are named %q", name)
	}
	owner[name] = who
	if c.layer != nil {
		m.layers[c.layer] = name
	}
	return nil
}

// stem is what a nameless layer's name begins with.
func stem(s Spec) string {
	if m, ok := s.(*Model); ok {
		return m.Name
	}
	return s.Kind()
}

// checkName refuses what could not be told apart in paths and references.
func checkName(name string) error {
	bad := func(r rune) bool { return strings.ContainsRune("/#:", r) || !unicode.IsPrint(r) }
	if name == "" || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("the name %q is empty or holds one of / # : or what cannot be printed", name)
	}
	return nil
}

// ref names a node: its application, and the output unless that is the first.
func (m *Model) ref(n *Node) string {
	if n.out > 0 {
		return fmt.Sprintf("%s:%d", m.names[n.call], n.out)
	}
	return m.names[n.call]
}
