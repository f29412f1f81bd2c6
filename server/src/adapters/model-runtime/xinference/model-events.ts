import { setTimeout as sleep } from 'node:timers/promises'
import type { LogLine } from '../../../ports/model-runtime.ts'
import { toUid } from './context.ts'
import { hideCredentials } from './errors.ts'
import type { XinferenceContext } from './context.ts'
import type { ModelEvent } from './response-schemas.ts'

const defaultFollowMs = 2_000

/** Reads a model's events from all supervisors, because a model that failed to start can't be located. */
export async function readEvents(
  { supervisors, settings }: XinferenceContext,
  engineId: string,
): Promise<LogLine[]> {
  const results = await Promise.allSettled(
    supervisors.map((supervisor) => supervisor.listEvents(toUid(engineId))),
  )
  return results.flatMap((result) => {
    if (result.status === 'fulfilled') return result.value.map(toLogLine)
    settings.logger.warn({ engineId, err: result.reason }, 'a Xinference supervisor is unreachable')
    return []
  })
}

/** The last `tail` events of a model, then new ones until the signal aborts. */
export async function* followEvents(
  context: XinferenceContext,
  engineId: string,
  tail: number,
  signal: AbortSignal,
): AsyncIterable<LogLine> {
  const toKey = ({ at, line }: LogLine) => `${at.getTime()} ${line}`
  const existing = await readEvents(context, engineId)
  yield* existing.slice(Math.max(0, existing.length - tail))
  const sent = new Set(existing.map(toKey))
  while (!signal.aborted) {
    await sleep(context.settings.followIntervalMs ?? defaultFollowMs, undefined, { signal }).catch(() => {})
    const lines = signal.aborted ? [] : await readEvents(context, engineId)
    for (const line of lines) {
      if (sent.has(toKey(line))) continue
      sent.add(toKey(line))
      yield line
    }
  }
}

function toLogLine({ event_ts, event_type, event_content }: ModelEvent): LogLine {
  return {
    at: new Date(event_ts * 1000),
    line: `${event_type}: ${hideCredentials(event_content).replace(/\s+/g, ' ').trim()}`,
  }
}
