import type { AppRouter } from '../router.tsx'

const doors = ['/sign-in', '/register', '/forgot-password', '/reset-password', '/invitations/']

/** Leads to the sign-in page, and from there back to where one is now. */
export function signInAgain(router: AppRouter) {
  // The first page asks who is signed in before it is shown.
  if (!router.state.resolvedLocation) return
  const { pathname, href } = router.state.location
  if (doors.some((door) => pathname.startsWith(door))) return
  void router.navigate({ to: '/sign-in', search: { return_to: href }, replace: true })
}
