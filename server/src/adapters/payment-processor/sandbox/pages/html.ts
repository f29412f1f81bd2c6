import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'

/** HTML that is safe to be put into other HTML. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Piece = string | number | Html | false | null | undefined | readonly Piece[]

/** Escapes whatever is put into it but other `Html`; nothing for what is false, null or undefined. */
export function html(strings: TemplateStringsArray, ...pieces: Piece[]): Html {
  return new Html(strings.reduce((text, part, index) => text + toText(pieces[index - 1]) + part))
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function toText(piece: Piece): string {
  if (piece === false || piece === null || piece === undefined) return ''
  if (piece instanceof Html) return piece.text
  if (typeof piece === 'object') return piece.map(toText).join('')
  return String(piece).replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)
}

const style = `
:root { color-scheme: light dark; --ink: #17202e; --soft: #5a6779; --line: #d5dce6; --field: #78859a; --ground: #f3f5f9; --card: #fff;
  --accent: #2353c4; --on-accent: #fff; --bad: #a8172a; --good: #14683c; --mark: #fff3cd; --on-mark: #5c4400 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf3; --soft: #a3afc0; --line: #364154; --field: #74839a; --ground: #11161f;
  --card: #1a2230; --accent: #8fb0ff; --on-accent: #0d1526; --bad: #ff9aa5; --good: #7fdca6; --mark: #4a3a08; --on-mark: #ffe9a8 } }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground) }
.sandbox { margin: 0; padding: .5rem 1rem; text-align: center; background: var(--mark); color: var(--on-mark); font-weight: 600 }
main { max-width: 40rem; margin: 2rem auto; padding: 0 1rem }
section, .box { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1.5rem; margin-bottom: 1.25rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem } h2 { font-size: 1.1rem; margin: 0 0 .75rem }
p { margin: 0 0 1rem } .soft { color: var(--soft) } .bad { color: var(--bad) } .good { color: var(--good) }
label { display: block; font-weight: 600; margin-bottom: .25rem }
input, select { width: 100%; font: inherit; color: inherit; background: var(--ground); padding: .6rem .75rem; border: 1px solid var(--field);
  border-radius: .5rem; margin-bottom: 1rem }
input[aria-invalid=true] { border-color: var(--bad) }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem }
.error { color: var(--bad); margin: -.75rem 0 1rem; font-size: .9rem }
.alert { border: 1px solid var(--bad); color: var(--bad); border-radius: .5rem; padding: .75rem 1rem; margin: 0 0 1rem }
button, .button { display: inline-block; font: inherit; font-weight: 600; border: 1px solid transparent; border-radius: .5rem; padding: .6rem 1.1rem;
  background: var(--accent); color: var(--on-accent); cursor: pointer; text-decoration: none }
button.quiet, .button.quiet { background: none; color: var(--accent); border-color: var(--line) }
button.wide { width: 100% } a { color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
table { width: 100%; border-collapse: collapse } th, td { text-align: left; padding: .5rem .25rem; border-bottom: 1px solid var(--line);
  vertical-align: top } .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
tfoot td { border: 0; font-weight: 700 } ul.plain { list-style: none; margin: 0; padding: 0 }
ul.plain li { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; padding: .5rem 0;
  border-bottom: 1px solid var(--line) } ul.plain li:last-child { border: 0 }
::placeholder { color: var(--soft); opacity: 1 } .after { margin: 1rem 0 0 }
.actions { display: flex; flex-wrap: wrap; gap: .5rem } .actions form { margin: 0 }
.tag { display: inline-block; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .6rem; font-size: .85rem; font-weight: 600 }
code { font-variant-numeric: tabular-nums; font-size: .95em }
`

/** Made in one piece: the policy names the hash of all that stands between the tags, to the last space. */
const styleElement = new Html(`<style>${style}</style>`)
const styleHash = createHash('sha256').update(style).digest('base64')

/** Sends a whole page. No scripts and nothing from elsewhere: the policy forbids what the pages don't have. */
export function sendPage(
  reply: FastifyReply,
  publicOrigin: string,
  status: number,
  title: string,
  body: Html,
) {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    // A form's redirect leads back to the console, which may have another name for this origin.
    `form-action 'self' ${publicOrigin}`,
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
        <p class="sandbox" role="note">Sandbox: nothing is charged</p>
        <main>${body}</main>
      </body>
    </html> `
  return reply
    .code(status)
    .headers({
      'content-security-policy': policy.join('; '),
      'cache-control': 'no-store',
      // The address is a secret. Not `no-referrer`, under which forms would be sent without an origin.
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    .type('text/html; charset=utf-8')
    .send(page.text)
}
