// Controls beside viser's player: curves in step with the slider, toggles, picking, dark and light.
//
// `page` is what pysim/render/exports/web_controls.py writes. The player is viser's React client [viser 1.1]: its state is the
// `value` of the context whose `value.useSceneTree` exists, its clock the slider of the playback bar. Both are found
// through React's fibers; where they are not (another version of viser), the controls stay hidden and the run plays.
(page => {
  "use strict";
  const byId = id => document.getElementById(id);
  const bar = byId("pysim-bar"), strip = byId("pysim-strip"), label = byId("pysim-pick");
  const canvas = strip.querySelector("canvas"), cursor = byId("pysim-cursor"), list = byId("pysim-curves");
  const scale = byId("pysim-scale");
  const fiberOf = element => element[Object.keys(element).find(key => key.startsWith("__reactFiber"))];
  const above = (fiber, accept) => {
    while (fiber && !(fiber.memoizedProps && accept(fiber.memoizedProps))) fiber = fiber.return;
    return fiber ? fiber.memoizedProps : null;
  };
  const thumb = () => document.querySelector("#root [role=slider][aria-valuenow]");
  const now = () => Number(thumb()?.getAttribute("aria-valuenow") ?? 0);
  const seek = time => {
    const clamped = Math.min(Math.max(time, 0), page.duration);
    above(fiberOf(thumb()), props => typeof props.value === "number" && props.onChange)?.onChange(clamped);
  };
  const add = (parent, tag, text = "") => {
    const element = parent.appendChild(document.createElement(tag));
    element.textContent = text;
    return element;
  };
  let viewer = null;

  // Toggles. The player replays its recording from the start when it rewinds, so the choice is set again and again.
  const chosen = new Map(), buttons = new Map();
  const show = (node, visible) => {
    const found = viewer.useSceneTree.get(node);
    if (found && found.overrideVisibility !== visible)
      viewer.sceneTreeActions.updateNodeAttributes(node, { overrideVisibility: visible });
  };
  const applyToggles = () => {
    for (const [name, group] of Object.entries(page.groups))
      for (const node of group.nodes) show(node, chosen.get(name) || (name === "Frames" && node === picked?.axes));
    viewer.mutable.requestRender?.();
  };
  const press = (name, on) => {
    chosen.set(name, on);
    buttons.get(name).setAttribute("aria-pressed", on);
    applyToggles();
  };
  for (const [name, group] of Object.entries(page.groups)) {
    const button = add(bar, "button", name);
    buttons.set(name, button);
    chosen.set(name, group.on);
    button.setAttribute("aria-pressed", group.on);
    button.onclick = () => {
      button.blur(); // the space bar plays and pauses
      press(name, !chosen.get(name));
    };
  }

  // Dark and light: viser's theme, whose colours the controls follow.
  const theme = add(bar, "button", "◐");
  theme.title = "dark or light";
  const isDark = () => Boolean(viewer.useGui.get().theme.dark_mode);
  const setDark = dark => {
    viewer.guiActions.setTheme({ ...viewer.useGui.get().theme, dark_mode: dark });
    document.documentElement.toggleAttribute("data-pysim-dark", dark);
  };
  theme.onclick = () => setDark(!isDark());

  // Picking: a click without a drag names the body under it, and the label follows the body.
  let picked = null, down = null;
  const pick = event => {
    const { scene, camera, nodeRefFromName } = viewer.mutable;
    const raycaster = scene.__r3f?.root.getState().raycaster;
    if (!raycaster) return;
    const box = viewer.mutable.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1, y = 1 - ((event.clientY - box.top) / box.height) * 2;
    raycaster.setFromCamera({ x, y }, camera);
    let nearest = null;
    for (const body of page.bodies) {
      const object = nodeRefFromName[body.node];
      if (!object || viewer.useSceneTree.get(body.node)?.effectiveVisibility === false) continue;
      const hit = raycaster.intersectObject(object, true)[0];
      if (hit && (!nearest || hit.distance < nearest.distance)) nearest = { distance: hit.distance, body };
    }
    picked = nearest?.body ?? null;
    label.hidden = !picked;
    readOut();
    applyToggles();
  };
  const readOut = () => {
    if (!picked) return;
    const pose = viewer.mutable.nodePoseData[picked.node];
    const at = (pose?.position ?? [0, 0, 0]).map(number => number.toFixed(3)).join("  ");
    label.textContent = `${picked.name}   ${at} m`;
  };

  // Curves: all that are checked share a unit and a scale.
  const curves = page.curves.map(curve => ({ ...curve, on: curve.on, box: null, value: null }));
  const colors = page.colors;
  const shown = () => curves.filter(curve => curve.on);
  const range = () => {
    let low = Infinity, high = -Infinity;
    for (const curve of shown()) for (const run of curve.runs) for (const y of run.y) {
      if (y < low) low = y;
      if (y > high) high = y;
    }
    return high > low ? [low, high] : [low - 1, low + 1];
  };
  const draw = () => {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    scale.replaceChildren();
    if (!shown().length) return;
    const [low, high] = range();
    const px = t => (t / (page.duration || 1)) * width, py = y => height - 4 - ((y - low) / (high - low)) * (height - 8);
    for (const curve of shown()) curve.runs.forEach((run, k) => {
      pen.strokeStyle = colors[curves.indexOf(curve) % colors.length];
      pen.lineWidth = 1.5;
      pen.setLineDash([[], [5, 3], [2, 2], [8, 2, 2, 2]][k % 4]);
      pen.beginPath();
      run.t.forEach((t, i) => pen[i ? "lineTo" : "moveTo"](px(t), py(run.y[i])));
      pen.stroke();
    });
    add(scale, "span", `${high.toPrecision(3)} ${shown()[0].unit}`);
    add(scale, "span", low.toPrecision(3));
  };
  const valueAt = (run, time) => {
    let low = 0, high = run.t.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (run.t[middle] <= time) low = middle;
      else high = middle;
    }
    const span = run.t[high] - run.t[low], part = span > 0 ? Math.min(Math.max((time - run.t[low]) / span, 0), 1) : 0;
    return run.y[low] + part * (run.y[high] - run.y[low]);
  };
  const choose = (curve, on) => {
    curve.on = on;
    if (on) for (const other of curves) if (other.unit !== curve.unit) other.on = false;
    for (const each of curves) each.box.checked = each.on;
    draw();
  };
  curves.forEach((curve, k) => {
    const row = add(list, "label");
    row.style.setProperty("--line", colors[k % colors.length]);
    curve.box = add(row, "input");
    curve.box.type = "checkbox";
    curve.box.checked = curve.on;
    curve.box.onchange = () => choose(curve, curve.box.checked);
    add(row, "span", curve.name);
    curve.value = add(row, "output");
  });
  const scrub = event => seek(((event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth) * page.duration);
  canvas.onpointerdown = event => {
    canvas.setPointerCapture(event.pointerId);
    scrub(event);
  };
  canvas.onpointermove = event => event.buttons && scrub(event);
  if (curves.length) {
    const toggle = add(bar, "button", "Curves");
    const open = on => {
      document.documentElement.toggleAttribute("data-pysim-strip", on);
      toggle.setAttribute("aria-pressed", on);
      window.dispatchEvent(new Event("resize"));
    };
    toggle.onclick = () => open(toggle.getAttribute("aria-pressed") !== "true");
    open(true);
  }
  new ResizeObserver(draw).observe(canvas);

  let refreshed = 0; // [ms]
  const tick = clock => {
    const time = now();
    cursor.style.transform = `translateX(${(time / (page.duration || 1)) * canvas.clientWidth}px)`;
    if (clock - refreshed > 100) {
      refreshed = clock;
      for (const curve of shown())
        curve.value.textContent = curve.runs.map(run => valueAt(run, time).toPrecision(4)).join(" | ") + ` ${curve.unit}`;
      applyToggles();
    }
    readOut();
    requestAnimationFrame(tick);
  };
  const start = () => {
    const surface = document.querySelector("#root canvas");
    const fiber = surface && fiberOf(surface);
    viewer = fiber ? above(fiber, props => props.value?.useSceneTree && props.value.sceneTreeActions)?.value : null;
    if (!viewer?.mutable || !surface) return void setTimeout(start, 100);
    viewer = { ...viewer, mutable: viewer.mutable.current ?? viewer.mutable };
    const root = document.querySelector("#root");
    root.addEventListener("pointerdown", event => (down = event.target.tagName === "CANVAS" && [event.clientX, event.clientY]), true);
    root.addEventListener("pointerup", event => {
      if (down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) < 5) pick(event);
    }, true);
    setDark(page.dark ?? matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.setAttribute("data-pysim-ready", "");
    requestAnimationFrame(tick);
  };
  start();
})(window.PYSIM_PAGE);
