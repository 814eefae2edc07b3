package group

// decide notes what the journal needs of a new view.
func (lp *loop) decide(view View) {}

// observe notes what the journal needs of a committed step.
func (lp *loop) observe(v *verdict) {}
