import type { AppRouter } from '../router.tsx'

const authPages = ['/sign-in', '/register', '/forgot-password', '/reset-password', '/invitations/']

/** Leads to the sign-in page, and from there back to where one is now. */
export function signInAgain(router: AppRouter) {
  if (!isInside(router)) return
  const { href } = router.state.location
  void router.navigate({ to: '/sign-in', search: { return_to: href }, replace: true })
}

/** Tells whether a page that requires a session is shown; false until the first page has loaded. */
export function isInside({ state: { resolvedLocation, location } }: AppRouter): boolean {
  return resolvedLocation !== undefined && !authPages.some((path) => location.pathname.startsWith(path))
}
