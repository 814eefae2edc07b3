package optim

import "math"

// Schedule gives the learning rate of a step, counted from 0. It is a pure function.
type Schedule func(step int) float64

// Constant keeps one rate.
func Constant(rate float64) Schedule { return func(int) float64 { return rate } }

// Steps multiplies the rate by factor after every `every` steps.
func Steps(rate, factor float64, every int) Schedule {
	return func(step int) float64 { return rate * math.Pow(factor, float64(step/max(every, 1))) }
}

// Cosine falls from rate to floor along half a cosine over total steps (Loshchilov & Hutter
// 2017) and stays there.
func Cosine(rate, floor float64, total int) Schedule {
	return func(step int) float64 {
		t := min(float64(step)/float64(max(total, 1)), 1)
		return floor + (rate-floor)*(1+math.Cos(math.Pi*t))/2
	}
}

// WarmUp rises linearly over n steps to what s gives, and follows s from there on (Goyal et al.
// 2017).
func WarmUp(n int, s Schedule) Schedule {
	return func(step int) float64 {
		if step < n {
			return s(step) * float64(step+1) / float64(n)
		}
		return s(step)
	}
}

// OneCycle rises from rate/25 to rate over the first 30 % of total steps and falls to
// rate/25/10⁴ over the rest, along cosines (Smith & Topin 2018).
func OneCycle(rate float64, total int) Schedule {
	low, end := rate/25, rate/25e4
	up := max(total*3/10, 1)
	rise := Cosine(low, rate, up)
	fall := Cosine(rate, end, max(total-up, 1))
	return func(step int) float64 {
		if step < up {
			return rise(step)
		}
		return fall(step - up)
	}
}
