// A feature describes its pages in `pages.ts`; this file registers them in the navigation's order. The build
// runs the router: console/first-views.ts writes a static first view of each page with a `frame`, whose first
// requests `api/early.ts` sends. Only the pages of `features/auth` work without a session.
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
import { NotFoundPage } from './components/not-found-page.tsx'
import {
  completeProfilePage,
  forgotPasswordPage,
  invitationPage,
  registerPage,
  requiredFactorPage,
  resetPasswordPage,
  servicePage,
  signInPage,
  verifyEmailPage,
} from './features/auth/pages.ts'
import { billingPage } from './features/billing/pages.ts'
import { catalogPage, modelPage } from './features/catalog/pages.ts'
import { deploymentPage, deploymentsPage } from './features/deployments/pages.ts'
import { organizationPage } from './features/organization/pages.ts'
import { playgroundPage } from './features/playground/pages.ts'
import { profilePage } from './features/profile/pages.ts'
import { serverPage } from './features/server/pages.ts'
import { requestsPage, usagePage } from './features/usage/pages.ts'
import { organizationsQuery } from './domain/session/organizations.ts'
import { lazyPart } from './routing/lazy-part.ts'
import { retryLoad } from './routing/retry-load.ts'
import { RouteError } from './shell/route-states.tsx'

// Most visits never open the command palette.
const Commands = lazyPart(() => import('./commands.tsx').then((module) => module.Commands))

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  errorComponent: RouteError,
})

/** Parent of every page that requires a session. */
const app = createRoute({
  getParentRoute: () => root,
  id: 'app',
  beforeLoad: async ({ context: { queryClient }, location }) => {
    const { user } = await requireSession(queryClient, location.href)
    if (user.kind === 'service') throw redirect({ to: '/service-member' })
    if (user.requires_profile_completion) throw redirect({ to: '/complete-profile' })
    if (user.requires_second_factor_setup) throw redirect({ to: '/set-up-second-factor' })
  },
  loader: ({ context: { queryClient } }) => queryClient.ensureQueryData(organizationQuery),
  component: lazyRouteComponent(
    retryLoad(async () => {
      const { AppShell } = await import('./shell/app-shell.tsx')
      return { default: () => <AppShell commands={Commands} /> }
    }),
  ),
})

/** Returns the session, or redirects a visitor to the sign-in page with a return path. */
async function requireSession(queryClient: QueryClient, href: string) {
  const session = await queryClient.ensureQueryData(sessionQuery)
  if (!session) throw redirect({ to: '/sign-in', search: href === '/' ? {} : { return_to: href } })
  return session
}

/** Visitors may open these pages without a session. */
const open = { getParentRoute: () => root }
/** These pages require a session and render inside the shell. */
const inApp = { getParentRoute: () => app }

const openRoutes = [
  createRoute({ ...open, ...signInPage }),
  createRoute({ ...open, ...registerPage }),
  createRoute({ ...open, ...forgotPasswordPage }),
  createRoute({ ...open, ...resetPasswordPage }),
  createRoute({ ...open, ...invitationPage }),
  createRoute({
    ...open,
    ...verifyEmailPage,
    beforeLoad: async ({ context: { queryClient }, location }) => {
      await requireSession(queryClient, location.href)
    },
  }),
  createRoute({
    ...open,
    ...servicePage,
    beforeLoad: async ({ context: { queryClient } }) => {
      await requireSession(queryClient, '/')
    },
  }),
  createRoute({
    ...open,
    ...requiredFactorPage,
    beforeLoad: async ({ context: { queryClient } }) => {
      await requireSession(queryClient, '/')
    },
  }),
  createRoute({
    ...open,
    ...completeProfilePage,
    beforeLoad: async ({ context: { queryClient } }) => {
      await requireSession(queryClient, '/')
    },
  }),
] as const

const appRoutes = [
  createRoute({
    ...inApp,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: '/deployments' })
    },
  }),
  createRoute({ ...inApp, ...deploymentsPage }),
  createRoute({ ...inApp, ...deploymentPage }),
  createRoute({ ...inApp, ...catalogPage }),
  createRoute({ ...inApp, ...modelPage }),
  createRoute({ ...inApp, ...playgroundPage }),
  createRoute({ ...inApp, ...usagePage }),
  createRoute({ ...inApp, ...requestsPage }),
  createRoute({ ...inApp, ...billingPage }),
  createRoute({ ...inApp, ...organizationPage }),
  createRoute({ ...inApp, ...profilePage }),
  createRoute({ ...inApp, ...serverPage }),
  createRoute({ ...inApp, path: '$', component: NotFoundPage }),
] as const

/** Creates the router. A page's code loads on the first visit, or when a pointer nears a link to the page. */
export function createAppRouter(queryClient: QueryClient) {
  const router = createRouter({
    routeTree: root.addChildren([...openRoutes, app.addChildren(appRoutes)]),
    context: { queryClient },
    defaultPreload: 'intent',
    // The query cache decides how long data stays fresh.
    defaultPreloadStaleTime: 0,
    defaultPendingComponent: LoadingPage,
    defaultErrorComponent: RouteError,
    scrollRestoration: true,
    // By default the router parses values as JSON, which would turn a token of digits into a number.
    parseSearch: parseSearchWith((value) => value),
    stringifySearch: stringifySearchWith(String),
  })
  router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
    if (fromLocation !== undefined && pathChanged) focusPage()
  })
  return router
}

/** Moves the focus into a new page, whose heading is read then, unless a field or a dialog has the focus. */
function focusPage() {
  const content = document.getElementById('content')
  const { activeElement } = document
  if (activeElement?.closest('[role="dialog"]')) return
  if (!content?.contains(activeElement)) content?.focus({ preventScroll: true })
}

/** Starts the queries of the shell and of every page inside. */
export function prefetchShell(queryClient: QueryClient) {
  void queryClient.prefetchQuery(sessionQuery)
  void queryClient.prefetchQuery(organizationQuery)
  // The sidebar shows a menu if there are several.
  void queryClient.prefetchQuery(organizationsQuery)
}

/** Starts loading the requested page's code and the shell in parallel with the session request. */
export function fetchFirstPage(router: AppRouter, queryClient: QueryClient) {
  const { pathname } = window.location
  const [routes] = router.getMatchedRoutes(pathname === '/' ? '/deployments' : pathname)
  // The router repeats a failed load and reports its error.
  for (const { options } of routes) options.component?.preload?.()?.catch(() => {})
  const isVisitor = queryClient.getQueryData(sessionQuery.queryKey) === null
  if (isVisitor || !routes.includes(app)) return
  prefetchShell(queryClient)
}

type AppRouter = ReturnType<typeof createAppRouter>

declare module '@tanstack/react-router' {
  interface Register {
    router: AppRouter
  }
}
