import type { QueryClient } from '@tanstack/react-query'
import { lazyRouteComponent } from '@tanstack/react-router'
import type { ResolveParams, RouteComponent } from '@tanstack/react-router'
import type { LucideIcon } from 'lucide-react'
import type { Permission } from '../contract.ts'
import { retryLoad } from './retry-load.ts'
import type { RawSearch } from './search.ts'

/** What the navigation and the build need to know about a page. */
export interface PageFacts {
  heading?: { title: string; description?: string }
  /** The build writes a first view: frame, heading with description, preloads, first requests. */
  frame?: 'member' | 'visitor'
  /**
   * Lists the page in the navigation for people with the permission, under the title of its heading, or under
   * another one without billing.
   */
  navigation?: { icon: LucideIcon; permission?: Permission; titleWithoutBilling?: string }
  /** The name of the component in the page's module. */
  component: string
}

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    page?: PageFacts
  }
}

interface PageOptions<Path extends string, Name extends string, Search extends object> extends PageFacts {
  /** The URL path, with parameters as in `/catalog/$modelId`. */
  path: Path
  /** Validates the search parameters; leave it out for a page without any. */
  readSearch?: (search: RawSearch) => Search
  /** Imports the component's module on the first visit, or when a pointer nears a link to it. */
  load: () => Promise<Record<Name, () => void>>
  component: Name
  /** Starts queries without waiting. With a `frame`, the first visit requests them before any code. */
  prefetch?: (queryClient: QueryClient, search: Search, params: ResolveParams<Path>) => void
}

interface LoaderInput<Path extends string, Search> {
  context: { queryClient: QueryClient }
  deps: Search
  params: ResolveParams<Path>
}

/** Describes a page of a feature as route options; router.tsx adds the parent route. */
export function page<
  const Path extends string,
  Name extends string,
  Search extends object = Record<string, never>,
>(options: PageOptions<Path, Name, Search>) {
  const { path, readSearch = () => ({}) as Search, load, prefetch, ...facts } = options
  return {
    path,
    validateSearch: readSearch,
    component: lazyRouteComponent(retryLoad(load), facts.component) as RouteComponent,
    loaderDeps: ({ search }: { search: Search }) => search,
    loader: ({ context, deps, params }: LoaderInput<Path, Search>) =>
      prefetch?.(context.queryClient, deps, params),
    staticData: { page: facts satisfies PageFacts },
  }
}
