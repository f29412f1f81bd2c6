import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  parseSearchWith,
  redirect,
  stringifySearchWith,
} from '@tanstack/react-router'
import { organizationQuery, sessionQuery } from './api/session.ts'
import { LoadingPage } from './components/loading-page.tsx'
import { deploymentsQuery } from './domain/deployments/queries.ts'
import { toShown } from './features/deployments/queries.ts'
import { retryLoad } from './routing/retry-load.ts'
import { NotFoundPage, RouteError } from './shell/route-states.tsx'

/** A search parameter as a text, or absent. The router reads digits as a number where that loses none of them. */
const textOf = (value: unknown) =>
  typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : typeof value === 'string' && value !== ''
      ? value
      : undefined

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFoundPage,
  errorComponent: RouteError,
})

/** Where a person without a session comes in. */
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (
    search: Record<string, unknown>,
  ): { return_to?: string | undefined; error?: string | undefined } => ({
    return_to: textOf(search.return_to),
    error: textOf(search.error),
  }),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/auth/sign-in-page.tsx')),
    'SignInPage',
  ),
})

const register = createRoute({
  getParentRoute: () => root,
  path: '/register',
  validateSearch: (search: Record<string, unknown>): { return_to?: string | undefined } => ({
    return_to: textOf(search.return_to),
  }),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/auth/register-page.tsx')),
    'RegisterPage',
  ),
})

const forgotPassword = createRoute({
  getParentRoute: () => root,
  path: '/forgot-password',
  component: lazyRouteComponent(
    retryLoad(() => import('./features/auth/forgot-password-page.tsx')),
    'ForgotPasswordPage',
  ),
})

const resetPassword = createRoute({
  getParentRoute: () => root,
  path: '/reset-password',
  validateSearch: (search: Record<string, unknown>) => ({ token: textOf(search.token) ?? '' }),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/auth/reset-password-page.tsx')),
    'ResetPasswordPage',
  ),
})

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitations/$token',
  component: lazyRouteComponent(
    retryLoad(() => import('./features/auth/invitation-page.tsx')),
    'InvitationPage',
  ),
})

/** Who is signed in; whoever isn't is led to the sign-in page, and back from there. */
async function requireSession(queryClient: QueryClient, href: string) {
  const session = await queryClient.ensureQueryData(sessionQuery)
  if (!session) throw redirect({ to: '/sign-in', search: href === '/' ? {} : { return_to: href } })
  return session
}

/** Parent of every page that requires a session. */
const app = createRoute({
  getParentRoute: () => root,
  id: 'app',
  beforeLoad: async ({ context: { queryClient }, location }) => {
    const { user } = await requireSession(queryClient, location.href)
    if (user.requires_profile_completion) throw redirect({ to: '/complete-profile' })
  },
  loader: ({ context: { queryClient } }) => queryClient.ensureQueryData(organizationQuery),
  component: lazyRouteComponent(
    retryLoad(() => import('./shell/app-shell.tsx')),
    'AppShell',
  ),
})

/** Completes an account created through an identity provider. */
const completeProfile = createRoute({
  getParentRoute: () => root,
  path: '/complete-profile',
  beforeLoad: async ({ context: { queryClient } }) => {
    await requireSession(queryClient, '/')
  },
  component: lazyRouteComponent(
    retryLoad(() => import('./features/auth/complete-profile-page.tsx')),
    'CompleteProfilePage',
  ),
})

const home = createRoute({
  getParentRoute: () => app,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/deployments' })
  },
})

const deployments = createRoute({
  getParentRoute: () => app,
  path: '/deployments',
  validateSearch: (
    search: Record<string, unknown>,
  ): { show?: 'all' | undefined; page?: string | undefined } => ({
    show: search.show === 'all' ? 'all' : undefined,
    page: textOf(search.page),
  }),
  loaderDeps: ({ search }) => toShown(search),
  // Its answer is not waited for.
  loader: ({ context: { queryClient }, deps }) => void queryClient.prefetchQuery(deploymentsQuery(deps)),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/deployments/deployments-page.tsx')),
    'DeploymentsPage',
  ),
})

const deployment = createRoute({
  getParentRoute: () => app,
  path: '/deployments/$deploymentId',
  validateSearch: (search: Record<string, unknown>): { tab?: string | undefined } => ({
    tab: textOf(search.tab),
  }),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/deployments/deployment-page.tsx')),
    'DeploymentPage',
  ),
})

const catalog = createRoute({
  getParentRoute: () => app,
  path: '/catalog',
  validateSearch: (search: Record<string, unknown>): CatalogSearch => ({
    q: textOf(search.q),
    type: textOf(search.type),
    provider: textOf(search.provider),
    family: textOf(search.family),
    size: textOf(search.size),
    fits: search.fits === 'yes' ? 'yes' : undefined,
  }),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/catalog/catalog-page.tsx')),
    'CatalogPage',
  ),
})

/** The filters of the catalog, kept in the address so that they can be shared and come back with the back button. */
export interface CatalogSearch {
  q?: string | undefined
  type?: string | undefined
  provider?: string | undefined
  family?: string | undefined
  size?: string | undefined
  fits?: 'yes' | undefined
}

const model = createRoute({
  getParentRoute: () => app,
  path: '/catalog/$modelId',
  component: lazyRouteComponent(
    retryLoad(() => import('./features/catalog/model-page.tsx')),
    'ModelPage',
  ),
})

const playground = createRoute({
  getParentRoute: () => app,
  path: '/playground',
  validateSearch: (
    search: Record<string, unknown>,
  ): { deployment?: string | undefined; tab?: string | undefined } => ({
    deployment: textOf(search.deployment),
    tab: textOf(search.tab),
  }),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/playground/playground-page.tsx')),
    'PlaygroundPage',
  ),
})

const usage = createRoute({
  getParentRoute: () => app,
  path: '/usage',
  validateSearch: (
    search: Record<string, unknown>,
  ): { from?: string | undefined; to?: string | undefined } => ({
    from: textOf(search.from),
    to: textOf(search.to),
  }),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/usage/usage-page.tsx')),
    'UsagePage',
  ),
})

const billing = createRoute({
  getParentRoute: () => app,
  path: '/billing',
  validateSearch: (search: Record<string, unknown>): { setup?: string | undefined } => ({
    setup: textOf(search.setup),
  }),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/billing/billing-page.tsx')),
    'BillingPage',
  ),
})

const organization = createRoute({
  getParentRoute: () => app,
  path: '/organization',
  validateSearch: (
    search: Record<string, unknown>,
  ): { tab?: string | undefined; invite?: 'yes' | undefined } => ({
    tab: textOf(search.tab),
    invite: search.invite === 'yes' ? 'yes' : undefined,
  }),
  component: lazyRouteComponent(
    retryLoad(() => import('./features/organization/organization-page.tsx')),
    'OrganizationPage',
  ),
})

const profile = createRoute({
  getParentRoute: () => app,
  path: '/profile',
  component: lazyRouteComponent(
    retryLoad(() => import('./features/profile/profile-page.tsx')),
    'ProfilePage',
  ),
})

const tree = root.addChildren([
  signIn,
  register,
  forgotPassword,
  resetPassword,
  invitation,
  completeProfile,
  app.addChildren([
    home,
    deployments,
    deployment,
    catalog,
    model,
    playground,
    usage,
    billing,
    organization,
    profile,
  ]),
])

/** The console's pages by their addresses; each page is loaded when it is first needed, or when a pointer nears its link. */
export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queryClient },
    defaultPreload: 'intent',
    // The query cache decides what is fresh.
    defaultPreloadStaleTime: 0,
    defaultPendingComponent: LoadingPage,
    defaultErrorComponent: RouteError,
    scrollRestoration: true,
    // Plain texts: the router would else read JSON, and take a token of digits for a number.
    parseSearch: parseSearchWith((value) => value),
    stringifySearch: stringifySearchWith(String),
  })
}

/** Begins to fetch the code of the page that was asked for, and what stands around it, beside the question of who is signed in. */
export function fetchFirstPage(router: AppRouter, queryClient: QueryClient) {
  const { pathname } = window.location
  const [routes] = router.getMatchedRoutes(pathname === '/' ? '/deployments' : pathname)
  // What fails here fails again where the router waits for it.
  for (const { options } of routes) options.component?.preload?.()?.catch(() => {})
  const isVisitor = queryClient.getQueryData(sessionQuery.queryKey) === null
  if (isVisitor || !routes.includes(app)) return
  void queryClient.prefetchQuery(sessionQuery)
  void queryClient.prefetchQuery(organizationQuery)
}

export type AppRouter = ReturnType<typeof createAppRouter>

declare module '@tanstack/react-router' {
  interface Register {
    router: AppRouter
  }
  /** Passed between auth pages without appearing in the URL. */
  interface HistoryState {
    email?: string | undefined
    passwordSet?: boolean | undefined
  }
}
