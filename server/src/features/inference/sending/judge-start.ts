import { ApplicationError } from '../../../base/errors.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { JsonError, memberNames, MemberWalk } from '../../../gateway/json-walk.ts'
import { loadTargets } from '../targets/targets.ts'
import type { TargetDeps } from '../targets/targets.ts'

/** Resolves to the 404 for a body whose start names an unknown model, or to null. Null without a name. */
export function judgeStart(deps: TargetDeps, viewer: Viewer, start: Buffer): Promise<Error | null> | null {
  const model = findModel(start)
  if (model === null) return null
  const asker = { viewer, member: null, outsideName: null }
  return loadTargets(deps, asker, model, 0).then(
    () => null,
    (error: unknown) =>
      error instanceof ApplicationError && error.code === 'model_not_found' ? error : null,
  )
}

const names = memberNames(['model'])

/** The model that the start of a body names; null for none. */
function findModel(start: Buffer): string | null {
  const walk = new MemberWalk(start, names)
  try {
    walk.advance(start.length)
  } catch (error) {
    // The body goes on.
    if (!(error instanceof JsonError)) throw error
  }
  const [member] = walk.members
  if (member === undefined) return null
  try {
    const model: unknown = JSON.parse(start.toString('utf8', member.start, member.end))
    return typeof model === 'string' && model !== '' ? model : null
  } catch {
    return null
  }
}
