package lbd
import ("testing";"fmt")
func TestDbg2(t *testing.T){
	for _,sh:=range []string{"c","h"} { for seed:=uint64(1);seed<=6;seed++{
	in := sample(t, sh, 300, 300, "uniform", seed)
	w, _ := New(in, Options{Seed: seed, Loss: 0.05, Epoch: 40000})
	lastW:=uint32(0); var last [12]int64
	for w.now<20000 { w.Run(w.now+8); 
	  if w.Wave()!=lastW||w.now==20000 { c:=w.Counts(); var d [12]int64; for k:=range d {d[k]=c.Kinds[k]-last[k]}; last=c.Kinds; 
		r:=w.Root(); fmt.Println(sh,seed,"t",w.now,"wave before",lastW,d,"root",r); lastW=w.Wave()}}
	hops:=w.Hops(w.Root()); sum:=0; for _,h:=range hops{sum+=h}
	best:=newCentral(in,-1); sb:=0; for _,h:=range best.layer{sb+=h}
	l,core:=w.MaxLoad()
	fmt.Println("sum of hops",sum,"at median",sb,"max",l,"core",core,"B",w.View(w.Root()).B,"astray",len(w.Astray()))
	}}
}
