import { compareVersions } from '../../../base/compare-versions.ts'
import type { RuntimeEngine } from '../../../ports/runtime-engine.ts'

type Facts = Pick<RuntimeEngine, 'routes' | 'ignoredFields' | 'version'>

/** The routes that an engine serves in its version. Of an unknown version, those that every version has. */
export function listEngineRoutes({ routes, version }: Pick<Facts, 'routes' | 'version'>) {
  return listOf(routes, version)
}

/** The fields that an engine's version ignores; for an unknown version, those that every version ignores. */
export function listIgnoredFields({ ignoredFields = {}, version }: Pick<Facts, 'ignoredFields' | 'version'>) {
  return listOf(ignoredFields, version)
}

function listOf<Name extends string>(
  oldestVersions: Readonly<Partial<Record<Name, string | null>>>,
  version: string | null,
): ReadonlySet<Name> {
  const names = Object.keys(oldestVersions) as Name[]
  return new Set(
    names.filter((name) => {
      const oldest = oldestVersions[name]!
      return oldest === null || (version !== null && compareVersions(version, oldest) >= 0)
    }),
  )
}
