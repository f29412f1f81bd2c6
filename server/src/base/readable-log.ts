import { styleText } from 'node:util'
import { z } from 'zod'

/** The facts that a started server shows to a person. */
export interface Ready {
  address: string
  dataDirectory: string
  /** Names of the inference engines found, for people */
  engines: readonly string[]
}

type Style = Parameters<typeof styleText>[0]

/** Applies a style if the terminal has styles. */
export type Paint = (style: Style, text: string) => string

/** Styles for standard output; none if it is no terminal or `NO_COLOR` is set. */
export const paintStdout: Paint = (style, text) => styleText(style, text, { stream: process.stdout })

const levels: Record<number, { name: string; style: Style }> = {
  40: { name: 'warning', style: 'yellow' },
  50: { name: 'error', style: 'red' },
  60: { name: 'fatal', style: 'red' },
}
const debugLevel = 20

const logLine = z.looseObject({
  level: z.number(),
  time: z.number(),
  msg: z.string().default(''),
  err: z.looseObject({ message: z.string().optional(), code: z.unknown().optional() }).optional(),
  ready: z
    .object({ address: z.string(), dataDirectory: z.string(), engines: z.array(z.string()) })
    .optional(),
})

/** Fields that say nothing to a person who watches one server */
const hiddenFields = new Set(['level', 'time', 'msg', 'err', 'ready', 'pid', 'hostname', 'name', 'reqId'])

/**
 * Formats a JSON line of the log for people, without stacks. Omits successful reads, because the console
 * polls. Replaces control characters, because texts of callers could control the terminal.
 */
export function formatForPeople(json: string, paint: Paint): string {
  const parsed = logLine.safeParse(JSON.parse(json))
  if (!parsed.success) return json
  const { level, time, msg, err, ready, ...fields } = parsed.data
  const request = readRequest(msg, fields)
  if (request?.isQuietRead === true && level > debugLevel) return ''
  const { name, style } = levels[level] ?? { name: null, style: null }
  const parts = [
    paint('dim', new Date(time).toTimeString().slice(0, 8)),
    name === null ? null : paint(style, `${name}:`),
    clean(request?.text ?? msg),
    ...describeFields(request?.rest ?? fields).map((field) => paint('dim', field)),
    err === undefined ? null : paint(style ?? 'dim', `(${clean(err.message || String(err.code))})`),
  ]
  const line = `${parts.filter((part) => part !== null).join(' ')}\n`
  return ready === undefined ? line : `${line}${formatBanner(ready, paint)}`
}

/** A request's line, such as `POST /v1/user/signin 200 in 45 ms`; null for other events. */
function readRequest(msg: string, fields: Record<string, unknown>) {
  const { method, route, status, ms, ...rest } = fields
  if (msg !== 'request' || typeof status !== 'number') return null
  return {
    text: `${String(method)} ${String(route)} ${status} in ${String(ms)} ms`,
    isQuietRead: (method === 'GET' || method === 'HEAD') && status < 400,
    rest,
  }
}

function describeFields(fields: Record<string, unknown>): string[] {
  return Object.entries(fields)
    .filter(([name, value]) => !hiddenFields.has(name) && value !== null && value !== false)
    .map(([name, value]) => clean(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`))
}

function clean(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}

function formatBanner({ address, dataDirectory, engines }: Ready, paint: Paint): string {
  const rows = [
    ['Open', paint('bold', address)],
    ['Data', dataDirectory],
    ['Engines', engines.join(', ')],
    ['Stop', 'Ctrl-C'],
  ] as const
  const lines = rows.map(([label, value]) => `  ${paint('dim', label.padEnd(9))}${value}`)
  return ['', `  ${paint('bold', 'Berth is ready')}`, '', ...lines, '', ''].join('\n')
}
