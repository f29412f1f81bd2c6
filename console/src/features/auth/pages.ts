import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'

declare module '@tanstack/react-router' {
  /** Passed between auth pages without appearing in the URL. */
  interface HistoryState {
    email?: string | undefined
    passwordSet?: boolean | undefined
    /** Whether the person has just deleted their account */
    accountDeleted?: boolean | undefined
    /** Whether the person signed out, but not at their identity provider */
    signedOutHere?: boolean | undefined
    /** The session ended while a page was open. */
    sessionEnded?: boolean | undefined
  }
}

interface ReturnSearch {
  /** Where to go after signing in. */
  return_to?: string | undefined
}

interface SignInSearch extends ReturnSearch {
  /** The code of a failed SSO sign-in. */
  error?: string | undefined
}

export const signInPage = page({
  path: '/sign-in',
  readSearch: ({ return_to, error }: RawSearch): SignInSearch => ({
    return_to: readText(return_to),
    error: readText(error),
  }),
  frame: 'visitor',
  load: () => import('./sign-in-page.tsx'),
  component: 'SignInPage',
})

export const registerPage = page({
  path: '/register',
  readSearch: ({ return_to }: RawSearch): ReturnSearch => ({ return_to: readText(return_to) }),
  load: () => import('./register-page.tsx'),
  component: 'RegisterPage',
})

export const forgotPasswordPage = page({
  path: '/forgot-password',
  load: () => import('./forgot-password-page.tsx'),
  component: 'ForgotPasswordPage',
})

export const resetPasswordPage = page({
  path: '/reset-password',
  readSearch: ({ token }: RawSearch) => ({ token: readText(token) ?? '' }),
  load: () => import('./reset-password-page.tsx'),
  component: 'ResetPasswordPage',
})

export const verifyEmailPage = page({
  path: '/verify-email',
  readSearch: ({ token }: RawSearch) => ({ token: readText(token) ?? '' }),
  load: () => import('./verify-email-page.tsx'),
  component: 'VerifyEmailPage',
})

export const invitationPage = page({
  path: '/invitations/$token',
  load: () => import('./invitation-page.tsx'),
  component: 'InvitationPage',
})

export const completeProfilePage = page({
  path: '/complete-profile',
  load: () => import('./complete-profile-page.tsx'),
  component: 'CompleteProfilePage',
})

export const servicePage = page({
  path: '/service-member',
  load: () => import('./service-page.tsx'),
  component: 'ServicePage',
})

export const requiredFactorPage = page({
  path: '/set-up-second-factor',
  load: () => import('./required-factor-page.tsx'),
  component: 'RequiredFactorPage',
})
