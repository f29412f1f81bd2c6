import { setImmediate } from 'node:timers/promises'
import { QueryClient } from '@tanstack/react-query'
import { runnerImport } from 'vite'
import type * as Router from './src/router.tsx'
import type { PageFacts } from './src/routing/page.ts'

/** What a page shows and needs before its code has loaded. */
export interface FirstView {
  fileName: string
  frame: 'member' | 'visitor'
  /** A heading that does not depend on data */
  heading?: PageFacts['heading']
  /** The names of the components whose code the view needs */
  components: string[]
  /** The paths of the first requests; an asterisk stands for the last part of the page's path */
  requests: string[]
  /** First requests that depend on search parameters, as the page sends them without any */
  requestsWithoutSearch: string[]
}

/** The parts of a route that `page()` sets. */
interface PageRoute {
  fullPath: string
  options: {
    staticData?: { page?: PageFacts }
    validateSearch?: (search: object) => object
    loader?: (input: { context: { queryClient: QueryClient }; deps: object; params: object }) => void
  }
}

/**
 * Derives the first views from the descriptions of the pages. The server sends `visitor.html` to visitors
 * without a session, `first-views/NAME.html` to members at `/NAME`, `first-views/NAME-item.html` below it,
 * and `index.html` at all other paths.
 */
export async function readFirstViews(): Promise<FirstView[]> {
  const { module } = await runnerImport<typeof Router>('/src/router.tsx', {
    root: import.meta.dirname,
    configFile: false,
  })
  const shell: FirstView = {
    fileName: 'index.html',
    frame: 'member',
    components: ['AppShell'],
    requests: await recordRequests(module.prefetchShell),
    requestsWithoutSearch: [],
  }
  const views = [shell]
  const routes = Object.values(module.createAppRouter(new QueryClient()).routesByPath)
  for (const route of routes as unknown as PageRoute[]) {
    const page = route.options.staticData?.page
    if (page?.frame === 'visitor') {
      const { frame, component } = page
      views.push({ ...shell, fileName: 'visitor.html', frame, components: [component], requests: [] })
    } else if (page?.frame === 'member') {
      views.push(await readMemberView(shell, page, route))
    }
  }
  return views
}

async function readMemberView(
  shell: FirstView,
  { heading, component }: PageFacts,
  { fullPath, options: { validateSearch, loader } }: PageRoute,
): Promise<FirstView> {
  let readsSearch = false
  const deps = new Proxy(validateSearch?.({}) ?? {}, {
    get(search, name) {
      readsSearch = true
      return Reflect.get(search, name)
    },
  })
  const [, name, parameter] = /^\/(\w+)(?:\/\$?(\w+))?$/.exec(fullPath) ?? []
  const params = parameter ? { [parameter]: '*' } : {}
  const requests = await recordRequests((queryClient) => loader?.({ context: { queryClient }, deps, params }))
  return {
    ...shell,
    fileName: `first-views/${name}${parameter ? '-item' : ''}.html`,
    ...(heading?.description !== undefined && { heading }),
    components: [...shell.components, component],
    requests: [...shell.requests, ...(readsSearch ? [] : requests)],
    requestsWithoutSearch: readsSearch ? requests : [],
  }
}

/** Returns the paths of the requests that `start` sends, without sending them. */
async function recordRequests(start: (queryClient: QueryClient) => void): Promise<string[]> {
  const paths: string[] = []
  const { fetch } = globalThis
  globalThis.fetch = (path) => {
    paths.push(path instanceof Request ? path.url : path.toString())
    return new Promise(() => {})
  }
  const queryClient = new QueryClient()
  try {
    start(queryClient)
    await setImmediate()
  } finally {
    globalThis.fetch = fetch
    queryClient.clear()
  }
  return [...new Set(paths)]
}
