import type { QueryClient } from '@tanstack/react-query'
import type { HistoryState, RegisteredRouter } from '@tanstack/react-router'
import { sessionQuery } from '../api/session.ts'
import { listenToOtherTabs } from '../domain/session/other-tabs.ts'

const authPaths = ['/sign-in', '/register', '/forgot-password', '/reset-password', '/invitations/']

/** Redirects to the sign-in page with a return path. `state` holds the reason and the email. */
export function redirectToSignIn(router: RegisteredRouter, state: HistoryState = {}) {
  if (!isSignedInPage(router)) return
  const { href } = router.state.location
  void router.navigate({ to: '/sign-in', search: { return_to: href }, state, replace: true })
}

/** Follows sign-outs and switches of organization in other tabs, so no former data stays on screen. */
export function followOtherTabs(queryClient: QueryClient, router: RegisteredRouter) {
  listenToOtherTabs((change) => {
    if (change === 'switched') return void startOver(queryClient, router)
    queryClient.setQueryData(sessionQuery.queryKey, null)
    redirectToSignIn(router)
  })
}

/** Leaves the current page, because its data and drafts may belong to the previous organization. */
async function startOver(queryClient: QueryClient, router: RegisteredRouter) {
  if (isSignedInPage(router)) await router.navigate({ to: '/deployments' })
  await queryClient.resetQueries()
}

/** Whether the page requires a session; false until the first page, which checks it, has loaded. */
function isSignedInPage({ state: { resolvedLocation, location } }: RegisteredRouter): boolean {
  return resolvedLocation !== undefined && !authPaths.some((path) => location.pathname.startsWith(path))
}
