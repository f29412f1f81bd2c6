import { createHash } from 'node:crypto'
import escapeHtml from 'escape-html'
import type { FastifyReply } from 'fastify'

/** Escaped HTML. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Piece = string | number | Html | false | null | undefined | readonly Piece[]

/** Escapes every piece except `Html`; renders false, null and undefined as nothing. */
export function html(strings: TemplateStringsArray, ...pieces: Piece[]): Html {
  return new Html(strings.reduce((text, part, index) => text + toText(pieces[index - 1]) + part))
}

function toText(piece: Piece): string {
  if (piece === false || piece === null || piece === undefined) return ''
  if (piece instanceof Html) return piece.text
  if (typeof piece === 'object') return piece.map(toText).join('')
  return escapeHtml(String(piece))
}

// Colors and sizes match the console.
const style = `
:root { color-scheme: light dark; --canvas: light-dark(#f7f8f8, #0d1012); --surface: light-dark(#fff, #14181b);
  --subtle: light-dark(#eff1f2, #1d2327); --line: light-dark(#e1e5e7, #262d32); --field: light-dark(#858f96, #6b767e);
  --ink: light-dark(#12181c, #e8ecee); --soft: light-dark(#525d65, #9ba7af); --accent: light-dark(#0f766e, #2dd4bf);
  --strong: light-dark(#0b5e58, #5eead4); --on-accent: light-dark(#fff, #06201d); --bad: light-dark(#b42318, #ff8a80);
  --bad-soft: light-dark(#fdeceb, #3b1613); --mark: light-dark(#fdf1dc, #352708); --on-mark: light-dark(#8a5300, #f2b950) }
* { box-sizing: border-box }
body { margin: 0; font: 14px/1.5 'Geist Variable', ui-sans-serif, system-ui, sans-serif; color: var(--ink); background: var(--canvas) }
.sandbox { margin: 0; padding: .5rem 1rem; text-align: center; background: var(--mark); color: var(--on-mark); font-weight: 600 }
.brand { display: flex; align-items: center; gap: .625rem; max-width: 30rem; margin: 2rem auto 0; padding: 0 1rem; font-size: 1rem;
  font-weight: 600; letter-spacing: -.015em } .brand svg { width: 1.5rem; height: 1.5rem }
main { max-width: 30rem; margin: 1.25rem auto 3rem; padding: 0 1rem } main:has(table) { max-width: 44rem }
body:has(table) .brand { max-width: 44rem }
section { background: var(--surface); border: 1px solid var(--line); border-radius: .75rem; padding: 1.25rem; margin-bottom: 1.25rem }
h1 { font-size: 1.25rem; line-height: 1.3; letter-spacing: -.015em; font-weight: 600; margin: 0 0 .25rem; text-wrap: balance }
h2 { font-size: .875rem; font-weight: 600; margin: 0 0 .75rem } main > h1 { margin-bottom: 1rem }
p { margin: 0 0 1rem } p:last-child { margin-bottom: 0 } .soft { color: var(--soft) }
label { display: block; font-weight: 500; margin-bottom: .375rem }
input, select { width: 100%; height: 2.25rem; font: inherit; color: inherit; background: var(--surface); padding: 0 .75rem;
  border: 1px solid var(--field); border-radius: .375rem; margin-bottom: 1rem }
input[aria-invalid=true] { border-color: var(--bad) }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem }
p.error { color: var(--bad); margin: -.625rem 0 1rem; font-size: .8125rem }
.alert { background: var(--bad-soft); color: var(--bad); border-radius: .375rem; padding: .5rem .75rem; margin: 0 0 1rem }
button { font: inherit; font-weight: 500; height: 2.25rem; border: 1px solid transparent; border-radius: .375rem; padding: 0 .875rem;
  background: var(--accent); color: var(--on-accent); cursor: pointer } button:hover { background: var(--strong) }
button.quiet { background: var(--surface); color: var(--ink); border-color: var(--line) } button.quiet:hover { background: var(--subtle) }
button.wide { width: 100% } a { color: var(--accent); font-weight: 500; text-underline-offset: 2px }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
table { width: 100%; border-collapse: collapse } th, td { text-align: left; padding: .625rem .5rem; border-bottom: 1px solid var(--line);
  vertical-align: top } th { font-size: .8125rem; font-weight: 500; color: var(--soft) } th:first-child, td:first-child { padding-left: 0 }
th:last-child, td:last-child { padding-right: 0 } .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
tbody:last-child tr:last-child td { border: 0 } tfoot td { border: 0; font-weight: 600 } ul.plain { list-style: none; margin: 0; padding: 0 }
ul.plain li { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; padding: .625rem 0;
  border-bottom: 1px solid var(--line) } ul.plain li:first-child { padding-top: 0 } ul.plain li:last-child { border: 0; padding-bottom: 0 }
::placeholder { color: var(--soft); opacity: 1 } .after { margin: 1rem 0 0 }
.actions { display: flex; flex-wrap: wrap; gap: .5rem } .actions form { margin: 0 }
.tag { display: inline-block; border-radius: 1rem; padding: .0625rem .5rem; font-size: .75rem; font-weight: 500; background: var(--subtle);
  color: var(--soft) }
code { font: .8125rem ui-monospace, Menlo, monospace; font-variant-numeric: tabular-nums }
`

/** One string: the content security policy contains the hash of the whole element. */
const styleElement = new Html(`<style>${style}</style>`)
const styleHash = createHash('sha256').update(style).digest('base64')

const pageHeader = html`<header>
  <p class="sandbox" role="note">Sandbox: no real charges</p>
  <div class="brand">
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0f766e" />
      <path
        d="M7 20.5c3 2.4 6 2.4 9 0s6-2.4 9 0"
        fill="none"
        stroke="#fff"
        stroke-width="2.6"
        stroke-linecap="round"
      />
      <path
        d="M10 16V9.5h7.2a3.2 3.2 0 0 1 0 6.5z"
        fill="none"
        stroke="#fff"
        stroke-width="2.6"
        stroke-linejoin="round"
      />
    </svg>
    Berth
  </div>
</header>`

/** Sends a page whose content security policy forbids scripts and anything from other origins. */
export function sendPage(reply: FastifyReply, status: number, title: string, body: Html) {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    // A form may redirect to any return URL, as at Stripe.
    "form-action 'self' http: https:",
    "frame-ancestors 'self'",
    "base-uri 'none'",
  ]
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title} · Sandbox</title>
        ${styleElement}
      </head>
      <body>
        ${pageHeader}
        <main>${body}</main>
      </body>
    </html> `
  return reply
    .code(status)
    .headers({
      'content-security-policy': policy.join('; '),
      'cache-control': 'no-store',
      // The URL is a secret. With `no-referrer`, forms would be sent without an origin.
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    .type('text/html; charset=utf-8')
    .send(page.text)
}
