import { compareVersions } from '../../base/compare-versions.ts'
import type { EngineRoute, RuntimeEngine } from '../../ports/model-runtime.ts'

/** The routes that an engine serves in its version. Of an unknown version, those that every version has. */
export function listEngineRoutes({
  routes,
  version,
}: Pick<RuntimeEngine, 'routes' | 'version'>): ReadonlySet<EngineRoute> {
  const names = Object.keys(routes) as EngineRoute[]
  return new Set(
    names.filter((name) => {
      const oldest = routes[name]!
      return oldest === null || (version !== null && compareVersions(version, oldest) >= 0)
    }),
  )
}
