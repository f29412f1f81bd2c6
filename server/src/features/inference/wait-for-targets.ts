import type { Services } from '../../services.ts'
import type { Caller } from './caller.ts'
import { AsleepError } from './find-targets.ts'
import { loadTargets, recallTargets } from './targets.ts'
import type { EngineTarget, TargetDeps } from './targets.ts'
import type { Waking } from './waking.ts'

type Deps = Pick<Services, 'config'> & TargetDeps & { inference: { waking: Waking } }

/** The longest that a caller may ask a request to wait, in seconds */
const longestPatience = 86_400

/** Waits until the deployment is awake, and returns the targets of the model. Rejects with the error for the caller. */
export async function waitForTargets(
  deps: Deps,
  { request, reply }: Caller,
  { model, route }: { model: string; route: string },
  { deployment }: AsleepError,
): Promise<readonly EngineTarget[]> {
  const { viewer, headers } = request
  const patience = readPatience(headers['x-scale-up-timeout']) ?? deps.config.inference.wakeMilliseconds
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  reply.raw.once('close', leave)
  const until = performance.now() + patience
  try {
    for (let asleep = deployment; ;) {
      await deps.inference.waking.wait(asleep, {
        userId: viewer.userId,
        sessionId: viewer.session.id,
        route,
        patience: until - performance.now(),
        signal: leaving.signal,
      })
      if (leaving.signal.aborted) return []
      try {
        return (
          recallTargets(deps.inference.targets, viewer, model) ?? (await loadTargets(deps, viewer, model))
        )
      } catch (error) {
        // It may have fallen asleep again, or lost its instance.
        if (!(error instanceof AsleepError)) throw error
        asleep = error.deployment
      }
    }
  } finally {
    reply.raw.off('close', leave)
  }
}

/** Hugging Face's endpoints take this header in seconds. In milliseconds; null if it is no number. */
function readPatience(header: string | string[] | undefined): number | null {
  const seconds = typeof header === 'string' && header.trim() !== '' ? Number(header) : NaN
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, longestPatience) * 1000 : null
}
