import type { QueryClient } from '@tanstack/react-query'
import { lazyRouteComponent, type ResolveParams, type RouteComponent } from '@tanstack/react-router'
import { retryLoad } from './retry-load.ts'
import type { RawSearch } from './search.ts'

interface PageOptions<Path extends string, Name extends string, Search extends object> {
  /** The URL path, with parameters as in `/catalog/$modelId`. */
  path: Path
  /** Validates the search parameters; leave it out for a page without any. */
  readSearch?: (search: RawSearch) => Search
  /** Imports the module of the component when the page is first visited, or when a pointer nears a link to it. */
  load: () => Promise<Record<Name, () => void>>
  /** The name of the component in that module. */
  component: Name
  /** Starts queries while the code loads; the page renders without waiting for them. */
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
>({ path, readSearch = () => ({}) as Search, load, component, prefetch }: PageOptions<Path, Name, Search>) {
  return {
    path,
    validateSearch: readSearch,
    component: lazyRouteComponent(retryLoad(load), component) as RouteComponent,
    loaderDeps: ({ search }: { search: Search }) => search,
    loader: ({ context, deps, params }: LoaderInput<Path, Search>) =>
      prefetch?.(context.queryClient, deps, params),
  }
}
