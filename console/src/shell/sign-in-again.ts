import type { AppRouter } from '../router.tsx'

const doors = ['/sign-in', '/register', '/forgot-password', '/reset-password', '/invitations/']

/** Leads to the sign-in page, and from there back to where one is now. */
export function signInAgain(router: AppRouter) {
  if (!isInside(router)) return
  const { href } = router.state.location
  void router.navigate({ to: '/sign-in', search: { return_to: href }, replace: true })
}

/** Whether a page behind the door is shown: the first one asks who is signed in before it is. */
export function isInside({ state: { resolvedLocation, location } }: AppRouter): boolean {
  return resolvedLocation !== undefined && !doors.some((door) => location.pathname.startsWith(door))
}
