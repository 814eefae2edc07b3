'use strict';
(() => {
  const canvas = document.getElementById('map'), ctx = canvas.getContext('2d'), tip = document.getElementById('tip');
  const root = document.documentElement, n = data.ids.length;
  const show = { tour: true, stops: true, links: true, sensors: true, hot: true, reach: false, zones: true };
  let view = { x: 0, y: 0, k: 1 }, chosen = -1, other = null, pending = false, touched = false;
  const top = data.load.reduce((a, b) => Math.max(a, b), 0) || 1;
  const colour = name => getComputedStyle(root).getPropertyValue('--' + name).trim();

  // The ramp runs from blue-violet over green to yellow, even in lightness, and is told apart without red and green.
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const ramp = t => {
    const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2), f = at - i;
    return 'rgb(' + stops[i].map((c, k) => Math.round(c + f * (stops[i + 1][k] - c))).join(',') + ')';
  };
  document.getElementById('ramp').style.background = 'linear-gradient(90deg,' + [0, .25, .5, .75, 1].map(ramp).join(',') + ')';
  const shades = data.load.map(l => ramp(Math.sqrt(l / top)));

  const box = () => {
    let x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity;
    const add = (x, y) => { x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y); };
    for (let i = 0; i < n; i++) add(data.x[i], data.y[i]);
    data.tours.forEach(t => t.forEach(p => add(p[0], p[1])));
    return [x0, y0, x1, y1];
  };
  const fit = () => {
    const [x0, y0, x1, y1] = box(), w = canvas.clientWidth, h = canvas.clientHeight;
    const k = Math.min((w - 60) / Math.max(x1 - x0, 1), (h - 60) / Math.max(y1 - y0, 1));
    view = { k, x: w / 2 - k * (x0 + x1) / 2, y: h / 2 + k * (y0 + y1) / 2 };
    touched = false;
    draw();
  };
  const px = x => view.x + view.k * x, py = y => view.y - view.k * y;
  const path = (points, close) => {
    ctx.beginPath();
    points.forEach((p, i) => i ? ctx.lineTo(px(p[0]), py(p[1])) : ctx.moveTo(px(p[0]), py(p[1])));
    if (close) ctx.closePath();
  };
  const disc = (x, y, r) => { ctx.beginPath(); ctx.arc(x, y, r, 0, 7); };

  const draw = () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; paint(); });
  };
  const paint = () => {
    const ratio = Math.max(window.devicePixelRatio || 1, 2), w = canvas.clientWidth, h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, w, h);
    ctx.lineJoin = 'round';
    const ink = colour('ink'), accent = colour('accent'), size = Math.min(Math.max(4.2 * Math.sqrt(300 / Math.max(n, 60)), 1.5) * Math.sqrt(Math.max(view.k / fitScale(), 1)), 9);
    if (show.zones) zones();
    if (show.reach) reach(accent);
    if (show.links) links(w, h);
    if (show.tour) tour(accent);
    if (other) dashed(ink);
    if (show.sensors) sensors(size, w, h);
    if (show.hot) hot(size, accent);
    if (show.stops) marks(accent);
    if (data.depot) depot(ink);
    scale(w, h, ink);
  };
  const fitScale = () => {
    const [x0, y0, x1, y1] = box();
    return Math.min((canvas.clientWidth - 60) / Math.max(x1 - x0, 1), (canvas.clientHeight - 60) / Math.max(y1 - y0, 1));
  };
  const zones = () => {
    ctx.strokeStyle = ctx.fillStyle = colour('zone');
    ctx.lineWidth = 1.5;
    for (const z of data.zones) {
      path(z.ring, true);
      ctx.globalAlpha = z.noFly ? .22 : .1; ctx.fill(); ctx.globalAlpha = 1;
      ctx.setLineDash(z.noFly ? [] : [5, 4]); ctx.stroke(); ctx.setLineDash([]);
    }
  };
  const reach = accent => {
    ctx.fillStyle = accent; ctx.globalAlpha = .08;
    for (const s of data.stops) { disc(px(s.at[0]), py(s.at[1]), data.reach * view.k); ctx.fill(); }
    ctx.globalAlpha = 1;
  };
  const links = (w, h) => {
    ctx.strokeStyle = colour('link');
    for (const pass of [0, 1]) { // those of the chosen stop on top
      ctx.lineWidth = pass ? 2 : 1;
      if (pass) ctx.strokeStyle = colour('ink');
      ctx.beginPath();
      for (let i = 0; i < n; i++) {
        if ((chosen >= 0 && data.stop[i] === chosen) !== Boolean(pass)) continue;
        let to = null;
        if (data.parent[i] >= 0) to = [data.x[data.parent[i]], data.y[data.parent[i]]];
        else if (data.up[i] >= 0) to = data.stops[data.up[i]].at;
        if (!to) continue;
        const ax = px(data.x[i]), ay = py(data.y[i]), bx = px(to[0]), by = py(to[1]);
        if (Math.max(ax, bx) < 0 || Math.min(ax, bx) > w || Math.max(ay, by) < 0 || Math.min(ay, by) > h) continue;
        ctx.moveTo(ax, ay); ctx.lineTo(bx, by);
      }
      ctx.stroke();
    }
  };
  const tour = accent => {
    ctx.strokeStyle = accent;
    data.tours.forEach((t, i) => {
      ctx.lineWidth = 2.5; ctx.setLineDash(i % 2 ? [10, 3] : []);
      path(t, false); ctx.stroke();
    });
    ctx.setLineDash([]);
  };
  const dashed = ink => {
    ctx.strokeStyle = ink; ctx.lineWidth = 2; ctx.setLineDash([6, 5]);
    (other.paths || []).forEach(t => { path(t, false); ctx.stroke(); });
    ctx.setLineDash([]);
  };
  const sensors = (size, w, h) => {
    const edge = colour('map');
    ctx.lineWidth = 1;
    for (let i = 0; i < n; i++) {
      const x = px(data.x[i]), y = py(data.y[i]);
      if (x < -9 || y < -9 || x > w + 9 || y > h + 9) continue;
      disc(x, y, size);
      if (data.parent[i] === -2) { ctx.strokeStyle = colour('accent'); ctx.stroke(); continue; }
      ctx.fillStyle = shades[i]; ctx.fill();
      if (size > 2.5) { ctx.strokeStyle = edge; ctx.stroke(); }
    }
  };
  const hot = (size, accent) => {
    ctx.strokeStyle = accent; ctx.lineWidth = 2;
    for (const i of data.hot) { disc(px(data.x[i]), py(data.y[i]), size + 4); ctx.stroke(); }
  };
  const marks = accent => {
    const many = data.stops.length > 400;
    ctx.font = '600 11px system-ui, sans-serif'; ctx.textAlign = 'center'; ctx.textBaseline = 'middle';
    data.stops.forEach((s, i) => {
      const x = px(s.at[0]), y = py(s.at[1]), r = many ? 3 : i === chosen ? 11 : 8;
      ctx.beginPath(); ctx.rect(x - r, y - r, 2 * r, 2 * r);
      ctx.fillStyle = accent; ctx.fill();
      ctx.strokeStyle = colour('map'); ctx.lineWidth = 1.5; ctx.stroke();
      if (!many) { ctx.fillStyle = colour('bg'); ctx.fillText(String(i + 1), x, y + .5); }
    });
  };
  const depot = ink => {
    const x = px(data.depot[0]), y = py(data.depot[1]);
    ctx.beginPath(); ctx.moveTo(x, y - 10); ctx.lineTo(x + 9, y - 1); ctx.lineTo(x + 9, y + 8); ctx.lineTo(x - 9, y + 8); ctx.lineTo(x - 9, y - 1); ctx.closePath();
    ctx.fillStyle = ink; ctx.fill(); ctx.strokeStyle = colour('map'); ctx.lineWidth = 1.5; ctx.stroke();
  };
  const scale = (w, h, ink) => {
    let metres = Math.pow(10, Math.floor(Math.log10(140 / view.k)));
    for (const f of [5, 2]) if (metres * f * view.k <= 140) { metres *= f; break; }
    const long = metres * view.k, x = 16, y = h - 16;
    ctx.strokeStyle = ctx.fillStyle = ink; ctx.lineWidth = 2;
    ctx.beginPath(); ctx.moveTo(x, y - 5); ctx.lineTo(x, y); ctx.lineTo(x + long, y); ctx.lineTo(x + long, y - 5); ctx.stroke();
    ctx.font = '12px system-ui, sans-serif'; ctx.textAlign = 'left'; ctx.textBaseline = 'bottom';
    ctx.fillText(metres >= 1000 ? metres / 1000 + ' km' : metres + ' m', x + 4, y - 4);
    ctx.textAlign = 'center'; ctx.fillText('N', w - 22, h - 34);
    ctx.beginPath(); ctx.moveTo(w - 22, h - 32); ctx.lineTo(w - 16, h - 14); ctx.lineTo(w - 22, h - 18); ctx.lineTo(w - 28, h - 14); ctx.closePath(); ctx.fill();
  };

  // Moving about.
  const zoom = (f, x, y) => {
    const k = Math.min(Math.max(view.k * f, 1e-6), 1e4);
    f = k / view.k;
    touched = true;
    view = { k, x: x - (x - view.x) * f, y: y - (y - view.y) * f };
    draw();
  };
  const centre = f => zoom(f, canvas.clientWidth / 2, canvas.clientHeight / 2);
  const fingers = new Map();
  let moved = false;
  canvas.addEventListener('pointerdown', e => { canvas.setPointerCapture(e.pointerId); fingers.set(e.pointerId, [e.offsetX, e.offsetY]); moved = false; });
  canvas.addEventListener('pointermove', e => {
    const was = fingers.get(e.pointerId);
    if (!was) return hover(e.offsetX, e.offsetY);
    const now = [e.offsetX, e.offsetY];
    if (Math.hypot(now[0] - was[0], now[1] - was[1]) > 2) moved = true;
    if (fingers.size === 2) {
      const [a, b] = [...fingers.entries()].map(([id, p]) => id === e.pointerId ? [p, now] : [p, p]);
      const d = k => Math.hypot(a[k][0] - b[k][0], a[k][1] - b[k][1]) || 1;
      zoom(d(1) / d(0), (a[1][0] + b[1][0]) / 2, (a[1][1] + b[1][1]) / 2);
    } else { view.x += now[0] - was[0]; view.y += now[1] - was[1]; touched = touched || moved; draw(); }
    fingers.set(e.pointerId, now);
  });
  const lift = e => { if (fingers.delete(e.pointerId) && !moved && e.type === 'pointerup') choose(stopAt(e.offsetX, e.offsetY)); };
  canvas.addEventListener('pointerup', lift);
  canvas.addEventListener('pointercancel', lift);
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('wheel', e => { e.preventDefault(); zoom(Math.exp(-e.deltaY / 400), e.offsetX, e.offsetY); }, { passive: false });
  canvas.addEventListener('keydown', e => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[e.key];
    if (step) { view.x += step[0]; view.y += step[1]; touched = true; draw(); }
    else if (e.key === '+' || e.key === '=') centre(1.3);
    else if (e.key === '-') centre(1 / 1.3);
    else if (e.key === '0') fit();
    else if (e.key === 'Escape') choose(-1);
    else return;
    e.preventDefault();
  });
  document.getElementById('in').onclick = () => centre(1.5);
  document.getElementById('out').onclick = () => centre(1 / 1.5);
  document.getElementById('all').onclick = fit;
  document.querySelectorAll('[data-layer]').forEach(box => { box.onchange = () => { show[box.dataset.layer] = box.checked; draw(); }; });
  document.querySelectorAll('tr[data-stop]').forEach(row => {
    row.onmouseenter = () => choose(Number(row.dataset.stop) - 1);
    row.onmouseleave = () => choose(-1);
  });

  // Looking closer.
  const round = v => Math.round(v * 1000) / 1000;
  const stopAt = (x, y) => data.stops.findIndex(s => Math.max(Math.abs(px(s.at[0]) - x), Math.abs(py(s.at[1]) - y)) < 10);
  const hover = (x, y) => {
    const s = show.stops ? stopAt(x, y) : -1;
    if (s >= 0) return say(x, y, 'Stop ' + (s + 1) + '\n' + round(data.stops[s].packets) + ' packets from ' + data.stops[s].serves + (data.stops[s].serves === 1 ? ' sensor' : ' sensors') + '\nwaits ' + round(data.stops[s].dwell) + ' s');
    let best = -1, near = 144;
    for (let i = 0; i < n; i++) {
      const d = (px(data.x[i]) - x) ** 2 + (py(data.y[i]) - y) ** 2;
      if (d < near) { near = d; best = i; }
    }
    if (best < 0) { tip.hidden = true; return; }
    const p = data.parent[best];
    const next = p >= 0 ? 'to ' + data.ids[p] : p === -1 ? 'to the sink at stop ' + (data.up[best] + 1) : p === -2 ? 'not served' : 'to a sensor that is not drawn';
    say(x, y, 'Sensor ' + data.ids[best] + '\nsends ' + round(data.load[best]) + ' packets a round\n' + next);
  };
  const say = (x, y, text) => {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = Math.min(x + 14, canvas.clientWidth - tip.offsetWidth - 6) + 'px';
    tip.style.top = Math.min(y + 14, canvas.clientHeight - tip.offsetHeight - 6) + 'px';
  };
  const choose = s => { chosen = s; draw(); };

  // What if.
  const time = seconds => clock(Math.round(seconds));
  const clock = s => s < 3600 ? Math.floor(s / 60) + 'm ' + String(s % 60).padStart(2, '0') + 's' : Math.floor((s + 30) / 3600) + 'h ' + String(Math.floor((s + 30) % 3600 / 60)).padStart(2, '0') + 'm';
  const long = s => { const [size, name] = [[31557600, 'years'], [86400, 'days'], [3600, 'hours'], [60, 'minutes']].find(u => s >= 2 * u[0]) || [1, 'seconds']; return round(Math.round(s / size * 10) / 10) + ' ' + name; };
  const setUpSliders = g => {
    const axes = [g.deadlines, g.speeds, g.ranges], text = [time, v => round(v) + ' m/s', v => v ? round(v) + ' m' : 'as measured'];
    const slider = axes.map((_, k) => document.getElementById('s' + k)), out = axes.map((_, k) => document.getElementById('o' + k));
    const cell = at => ({ deadline: axes[0][at[0]], ...g.cells[(at[0] * axes[1].length + at[1]) * axes[2].length + at[2]] });
    const rows = [['Busiest sensor (packets)', c => round(c.maxLoad)], ['Lower bound', c => round(c.bound)], ['First death (rounds)', c => c.rounds ? Math.round(c.rounds).toLocaleString('en') : 'never'],
      ['First death (time)', c => c.rounds ? long(c.rounds * c.deadline) : 'never'],
      ['Tour length (m)', c => Math.round(c.length).toLocaleString('en')], ['Longest tour', c => time(c.total)], ['Stops', c => c.stops]];
    const body = document.querySelector('#outcome tbody'), problem = document.getElementById('problem'), now = [];
    for (const [name, value] of rows) {
      const row = body.insertRow(), head = document.createElement('th');
      head.scope = 'row'; head.textContent = name; row.append(head);
      const base = cell(g.base);
      row.insertCell().textContent = base.problem ? '–' : value(base);
      now.push([row.insertCell(), value]);
    }
    const change = () => {
      const at = slider.map(s => Number(s.value)), c = cell(at), same = at.every((v, k) => v === g.base[k]);
      at.forEach((v, k) => { out[k].textContent = text[k](axes[k][v]); slider[k].setAttribute('aria-valuetext', out[k].textContent); });
      for (const [place, value] of now) place.textContent = c.problem ? '–' : value(c);
      problem.hidden = !c.problem;
      problem.textContent = c.problem ? 'No plan: ' + c.problem + (c.nearest ? '; a deadline of ' + time(c.nearest) + ' would do' : '') : '';
      other = same ? null : c;
      draw();
    };
    slider.forEach((s, k) => { s.max = axes[k].length - 1; s.value = g.base[k]; s.disabled = axes[k].length < 2; s.oninput = change; });
    change();
  };
  if (data.grid) setUpSliders(data.grid);

  // Light and dark.
  const theme = document.getElementById('theme'), prefersDark = matchMedia('(prefers-color-scheme: dark)');
  const dark = () => root.dataset.theme ? root.dataset.theme === 'dark' : prefersDark.matches;
  const label = () => { theme.textContent = dark() ? 'Light' : 'Dark'; };
  theme.hidden = false;
  theme.onclick = () => { root.dataset.theme = dark() ? 'light' : 'dark'; label(); draw(); };
  prefersDark.addEventListener('change', () => { label(); draw(); });
  label();

  new ResizeObserver(() => { if (touched) draw(); else fit(); }).observe(canvas);
  addEventListener('beforeprint', () => { fit(); paint(); });
  addEventListener('afterprint', draw);
})();
