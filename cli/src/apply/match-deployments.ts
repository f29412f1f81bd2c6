import type { Deployment } from '../../../console/src/contract.ts'
import { compareSettings, toPresentSettings, toWantedSettings } from './deployment-settings.ts'
import type { Difference } from './deployment-settings.ts'
import type { WantedDeployment } from './file-schema.ts'
import type { ReadFile } from './read-file.ts'
import { findModel } from './server-state.ts'
import type { ServerState } from './server-state.ts'

/** The deployments of a server that a deployment of a file stands for. */
export interface Match {
  /** The one that stays; null if none has the variant */
  present: Deployment | null
  /** Those that it replaces, and what an interrupted replacement left */
  old: Deployment[]
}

/** The deployments that a file may change: the person's own, and those that it made for others. */
export function listManageable({ deployments, own }: ServerState, fileName: string): Deployment[] {
  return deployments.filter(({ id, managed_by: manager }) => own.has(id) || manager === fileName)
}

/** The name of a deployment in the file that made it; null if another file or a person made it. */
export function nameInFile(
  { managed_by: manager, managed_name: name, alias }: Deployment,
  fileName: string,
): string | null {
  return manager === fileName ? (name ?? alias) : null
}

/**
 * Finds what each deployment of a file stands for: what an earlier `apply` made under its name, else what has
 * its alias, or if it has none, its variant. Throws an error of the file if more deployments have an alias
 * than the file can take over.
 */
export function matchDeployments(file: ReadFile, state: ServerState): Map<string, Match> {
  const { content, fail } = file
  const manageable = listManageable(state, content.name)
  const matches = new Map<string, Match>()
  const newNames: string[] = []
  for (const [name, wanted] of Object.entries(content.deployments)) {
    const ours = manageable.filter((each) => nameInFile(each, content.name) === name)
    const present = ours.find((each) => isLive(each) && hasVariant(each, wanted, state)) ?? null
    matches.set(name, { present, old: ours.filter((each) => each !== present) })
    if (!ours.some(isLive)) newNames.push(name)
  }
  const others = manageable.filter((each) => each.managed_by !== content.name && isLive(each)).toReversed()
  const aliasOf = (name: string) => content.deployments[name]!.alias
  for (const alias of new Set(newNames.map(aliasOf))) {
    const names = newNames.filter((name) => aliasOf(name) === alias)
    const candidates = others.filter(
      (each) => each.alias === alias && (alias !== null || each.managed_by === null),
    )
    if (alias !== null && candidates.length > names.length) {
      const ids = candidates.map(({ id }) => id).join(', ')
      const message = `Several deployments have the alias ${alias}: ${ids}. Terminate all but one, or add them to the file.`
      throw fail(['deployments', names[0]!], message)
    }
    takeOver(content.deployments, names, candidates, state, matches)
  }
  return matches
}

/** Gives deployments that others made to those of the file: equal ones first, then those with the variant. */
function takeOver(
  wanted: Readonly<Record<string, WantedDeployment>>,
  names: readonly string[],
  candidates: readonly Deployment[],
  state: ServerState,
  matches: ReadonlyMap<string, Match>,
): void {
  const free = new Set(candidates)
  const countDifferences = (each: Deployment, name: string) => {
    const present = toPresentSettings(each, state)
    return compareSettings(present, toWantedSettings(wanted[name]!, present, state)).length
  }
  for (const mostDifferences of [0, Infinity]) {
    for (const name of names) {
      const match = matches.get(name)!
      if (match.present !== null) continue
      const [closest] = [...free]
        .filter((each) => hasVariant(each, wanted[name]!, state))
        .map((each) => ({ each, differences: countDifferences(each, name) }))
        .filter(({ differences }) => differences <= mostDifferences)
        .toSorted((one, other) => one.differences - other.differences)
      if (closest === undefined) continue
      match.present = closest.each
      free.delete(closest.each)
    }
  }
  // The next run finds no difference between deployments of equal settings, and must not swap them.
  const kindOf = (name: string) => JSON.stringify(wanted[name])
  for (const kind of new Set(names.map(kindOf))) {
    const found = names
      .filter((name) => kindOf(name) === kind)
      .map((name) => matches.get(name)!)
      .filter(({ present }) => present !== null)
    const byAge = candidates.filter((each) => found.some(({ present }) => present === each))
    for (const [index, match] of found.entries()) match.present = byAge[index]!
  }
  for (const name of names) {
    const match = matches.get(name)!
    const [replaced] = [...free].filter(({ alias }) => alias !== null)
    if (match.present !== null || replaced === undefined) continue
    match.old.unshift(replaced)
    free.delete(replaced)
  }
}

/** What differs of what only a new deployment can have. */
export function compareVariants(
  present: Deployment,
  wanted: WantedDeployment,
  state: ServerState,
): Difference[] {
  const model = findModel(state, wanted.model)?.model_name ?? wanted.model
  const pairs: [string, string | number | null, string | number | null | undefined][] = [
    ['model', present.model_name, model],
    ['format', present.model_format, wanted.format],
    ['size', present.model_size_in_billions, wanted.size],
    ['quantization', present.quantization, wanted.quantization],
    ['instance_type', present.requested_instance_type, wanted.instance_type],
  ]
  const lower = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value)
  return pairs
    .filter(([, before, after]) => after !== undefined && lower(before) !== lower(after))
    .map(([field, before, after]) => ({ field, before, after }))
}

function hasVariant(present: Deployment, wanted: WantedDeployment, state: ServerState): boolean {
  return compareVariants(present, wanted, state).length === 0
}

/** True if the deployment serves, sleeps or is on its way. */
export function isLive({ status }: Deployment): boolean {
  return status !== 'failed'
}
