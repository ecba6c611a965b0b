"""What holds of all pages: themes, narrow screens, many orders, accessibility, speed."""

import base64
import json
import pathlib
import time

from processes import Skip
from visits import expect

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
AXE = HERE / "node_modules" / "axe-core" / "axe.min.js"


def slowness():
    """How much longer something takes here than it would alone: other processes want the same cores."""
    began, used = time.monotonic(), time.process_time()
    while time.process_time() - used < 0.2:
        pass
    return max(1.0, (time.monotonic() - began) / 0.2)


def paths(stage):
    order, evidence, liar = stage.disputed()
    point = stage.get("/v1/workers?all=1")["workers"]
    assert any(one["key"] == liar for one in point)
    return {"jobs": "", "job": f"orders/{order}", "dispute": f"orders/{order}/dispute/{evidence}", "workers": "workers", "submit": "submit", "judge": "judge"}


def show(page, path):
    page.run(f"location.hash = '#/{path}'")
    page.until("document.querySelector('main .page h1')", f"the page {path!r}")
    if "dispute" in path:
        page.until("document.querySelector('.rounds svg')", "the picture")
    elif path.startswith("orders"):
        page.until("document.querySelectorAll('.event').length >= 5", "the life")


def themes(stage):
    """Dark and light follow the system; the switch overrules it, and is remembered."""
    page = stage.visit(theme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.run(ground)
    page.theme("dark")
    dark = page.run(ground)
    expect(light != dark, "the system's theme changes nothing")
    page.click("#theme")
    expect(page.run(ground) == light, "the switch does not go to light")
    page.reload()
    page.until("document.querySelector('main h1')")
    expect(page.run(ground) == light, "the choice is forgotten")
    page.click("#theme")
    expect(page.run(ground) == dark, "the switch does not go to dark")
    page.click("#theme")
    expect(page.run("document.documentElement.dataset.theme") is None, "the switch does not go back to the system's")


def phone(stage):
    """On a narrow screen nothing is wider than it, on any page."""
    page = stage.visit(width=360, height=740, mobile=True)
    for name, path in paths(stage).items():
        show(page, path)
        width = page.run("document.documentElement.scrollWidth")
        expect(width <= 360, f"{name}: {width} pixels wide on a screen of 360")
        small = page.run("""[...document.querySelectorAll('main button, nav a')].filter(e => e.offsetParent && !e.classList.contains('copy') && e.getBoundingClientRect().height < 30)
            .map(e => e.outerHTML.slice(0, 80))""")
        expect(not small, f"{name}: too small for a finger: {small}")


def thousand(stage):
    """A list of a thousand orders comes at once, is filtered at once, and is turned over by the keyboard."""
    url, token = stage.thousand()
    page = stage.visit(token=token, url=url)
    page.until("document.body.innerText.includes('1,000 orders')", "a thousand orders")
    expect(page.run("document.querySelectorAll('.jobs tbody tr').length") == 25, "a page of the list has another length")
    took = page.run("""(async () => { const field = document.querySelector('#search'); const times = [];
        for (const text of ['a', 'ab', '', 'f0', '']) { const t = performance.now(); field.value = text; field.dispatchEvent(new Event('input')); times.push(performance.now() - t); }
        return times.sort((a, b) => a - b)[2]; })()""")
    expect(took < 50 * slowness(), f"a filter takes {took:.0f} ms")
    newest = page.run("document.querySelector('.jobs tbody a').href")
    page.run("[...document.querySelectorAll('.pages button')].at(-1).focus()")
    page.press("Enter")
    page.until("document.querySelector('.pages').innerText.includes('page 2 of 40')", "the second page")
    expect(page.run("document.querySelector('.jobs tbody a').href") != newest, "the second page begins like the first")
    if stage.pictures:
        shown = stage.visit()
        shown.until("document.querySelectorAll('.jobs tbody tr').length >= 2", "orders")
        shown.until("![...document.querySelectorAll('.jobs tbody a')].some(a => /^job [0-9a-f]{8}$/.test(a.innerText))", "names")
        shown.picture(f"{stage.pictures}/web-jobs.png", 420)
    return took


def accessible(stage):
    """axe-core finds nothing to complain of, in both themes, on every page."""
    if not AXE.exists():
        raise Skip("axe-core is not here; scripts/bootstrap.sh browser fetches it")
    source = AXE.read_text()
    page = stage.visit()
    for theme in ("light", "dark"):
        page.theme(theme)
        for name, path in paths(stage).items():
            show(page, path)
            page.call("Runtime.evaluate", {"expression": source})
            found = page.run("""axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`))""", 60)
            expect(not found, f"{name}, {theme}: " + "; ".join(found))


def frames(stage):
    """A chart of 100,000 points that grows is drawn in well under a frame."""
    page = stage.visit()
    measured = page.run("""(async () => {
        const {Chart} = await import('/web/chart.js');
        const chart = new Chart({title: 'Many', x: 'step', format: String, formatX: String, axis: String, end: 120000});
        document.querySelector('main').prepend(chart.element);
        await new Promise(resolve => setTimeout(resolve, 100));
        const value = i => Math.sin(i / 900) * Math.exp(-i / 60000) + Math.random() * 0.1;
        for (let i = 0; i < 100000; i += 1) chart.add('a', i, value(i));
        await new Promise(requestAnimationFrame);
        const costs = [], begin = performance.now();
        let frames = 0, next = 100000;
        const draw = chart.draw.bind(chart);
        chart.draw = () => { const t = performance.now(); draw(); costs.push(performance.now() - t); };
        while (performance.now() - begin < 1500) {
            for (let i = 0; i < 20; i += 1) chart.add('a', next, value(next++));
            await new Promise(requestAnimationFrame);
            frames += 1;
        }
        costs.sort((a, b) => a - b);
        const seconds = (performance.now() - begin) / 1000;
        chart.element.remove();
        return {median: costs[costs.length >> 1], most: costs.at(-1), rate: frames / seconds, points: chart.series.get('a').count};
    })()""")
    print(f"  {measured['points']} points: {measured['median']:.2f} ms a frame (median), {measured['rate']:.0f} frames a second", flush=True)
    expect(measured["points"] > 100000, "points were lost")
    expect(measured["median"] < 8, f"a frame takes {measured['median']:.1f} ms, half of what there is")


def first_paint(stage):
    """With a processor four times slower something is seen within a second."""
    times, limit = [], 1000
    for _ in range(4):
        page = stage.browser.page()
        stage.pages.append((page, stage.url))
        page.throttle(4)
        page.go(stage.url + "/")
        page.until("document.querySelector('#token')", "the page")
        times.append(page.until("performance.getEntriesByName('first-contentful-paint')[0]?.startTime"))
        if times[-1] < limit:
            break
        limit = 1000 * slowness()
    print(f"  first paint after {times[-1]:.0f} ms", flush=True)
    expect(times[-1] < limit, f"the first paint came after {json.dumps([round(t) for t in times])} ms, which had to be less than {limit:.0f}")


def telemetry_file(stage):
    """The reader of telemetry.bin ends at what is no record, and refuses what is none at all."""
    page = stage.visit()
    said = page.run("""(async () => {
        const {readTelemetry} = await import('/web/telemetry.js');
        const quiet = {session() {}, step() {}, rate() {}, speed() {}, sample() {}};
        const head = new TextEncoder().encode('assay/telemetry/1\\n');
        const results = [readTelemetry(head, quiet), readTelemetry(new Uint8Array([...head, 255, 255, 255, 255, 1, 2, 3]), quiet)];
        try { readTelemetry(new Uint8Array(40), quiet); } catch (error) { results.push(error.message); }
        return results;
    })()""")
    expect(said == [0, 0, "this is no telemetry of version 1"], f"the reader says {said}")


def judge_module(stage):
    """The judge that runs in the browser says of all evidence what assay judge says, and refuses what was altered; a build without one says so."""
    page = stage.visit("judge")
    if page.run("fetch('/judge.wasm').then(answer => answer.status)") == 404:
        print("  this build has no judge for browsers", flush=True)
        return
    page.run("import('/web/server_judge.js').then(({judge}) => { window.judgeHere = judge; })")
    files, refused, slowest = stage.evidence_files(), 0, 0
    for number, file in enumerate(files):
        whole = file.read_bytes()
        versions = [whole] if number % 16 else [whole, whole[:-1], whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 0x41]) + whole[len(whole) // 2 + 1 :]]
        for version, content in enumerate(versions):
            file.write_bytes(content)
            bytes_of = json.dumps(base64.b64encode(content).decode())
            said = page.run(f"""(async () => {{
                const evidence = Uint8Array.from(atob({bytes_of}), letter => letter.charCodeAt(0)), began = performance.now();
                return {{verdict: await judgeHere(evidence, {json.dumps(str(file))}), took: performance.now() - began}};
            }})()""")
            slowest = max(slowest, said["took"])
            told = stage.world.assay("judge", file, "--explain", "--json")
            expected = {"error": told.err.strip().removeprefix("assay: ")} if told.status == 2 else told.json()
            refused += told.status == 2
            expect(version == 0 or told.status == 2, f"{file.name}, altered, is taken for evidence")
            expect(said["verdict"] == expected, f"{file.name}: the browser says {said['verdict']}, the command {expected}")
    print(f"  {len(files)} files of evidence and {refused} altered ones; the slowest took {slowest:.0f} ms", flush=True)
    expect(len(files) > 100 and refused > 10, "too little was judged")


TESTS = [themes, phone, thousand, accessible, frames, first_paint, telemetry_file, judge_module]
