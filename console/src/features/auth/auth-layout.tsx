import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useDocumentTitle } from '../../components/page.tsx'
import { Wordmark } from '../../components/wordmark.tsx'
import { usePasswordsAllowed } from '../../domain/installation.ts'
import { text } from '../../text/index.ts'
import { useLeaveWithSession } from './queries.ts'
import { toReturnPath } from './return-path.ts'
import { SsoButtons } from './sso-buttons.tsx'

interface AuthLayoutProps {
  title: string
  description?: ReactNode
  children?: ReactNode
  /** Links below the box, to the other auth pages. */
  footer?: ReactNode
}

/** The layout of the auth pages: a centered box without navigation. */
export function AuthLayout({ title, description, children, footer }: AuthLayoutProps) {
  useDocumentTitle(title)
  return (
    // Aligned to the top, so that nothing moves when an error makes the box taller.
    <main className="grid min-h-dvh content-start justify-items-center gap-6 bg-canvas px-4 pt-[max(2rem,12dvh)] pb-10">
      <Wordmark />
      <div className="grid w-full max-w-[25rem] gap-5 rounded-xl border bg-surface p-6 sm:p-8">
        <header className="grid gap-1 wrap-anywhere">
          <h1 className="text-lg font-semibold tracking-tight">{title}</h1>
          {description && <div className="text-muted">{description}</div>}
        </header>
        {children}
      </div>
      {footer && (
        <footer className="flex flex-wrap justify-center gap-x-5 gap-y-2 text-center wrap-anywhere text-muted">
          {footer}
        </footer>
      )}
    </main>
  )
}

/** Classes of a text link on an auth page. */
export const authLink =
  'rounded-sm font-medium text-accent underline-offset-4 hover:text-accent-strong hover:underline'

interface SignInLayoutProps {
  title: string
  /** The path to open after signing in, as the URL has it. */
  returnTo: string | undefined
  footer: ReactNode
  /** Messages above the form, also shown without it. */
  notice?: ReactNode
  /** The form for a password; hidden where only single sign-on is allowed. */
  children: ReactNode
}

/** Sign-in and registration: the form above the identity providers. Redirects once a session exists. */
export function SignInLayout({ title, returnTo, footer, notice, children }: SignInLayoutProps) {
  useLeaveWithSession(returnTo)
  const passwords = usePasswordsAllowed()
  return (
    <AuthLayout title={title} footer={passwords && footer && <span>{footer}</span>}>
      {notice}
      {passwords && children}
      <SsoButtons returnPath={toReturnPath(returnTo)} alone={!passwords || !children} />
    </AuthLayout>
  )
}

interface PasswordResetLayoutProps {
  title: string
  message: string
  /** Has screen readers announce the message. */
  role?: 'status' | 'alert'
  children: ReactNode
}

/** The layout of both steps of a password reset, with a link back to the sign-in page. */
export function PasswordResetLayout({ title, message, role, children }: PasswordResetLayoutProps) {
  const back = (
    <Link to="/sign-in" className={authLink}>
      {text.auth.backToSignIn}
    </Link>
  )
  return (
    <AuthLayout title={title} description={<p role={role}>{message}</p>} footer={back}>
      {children}
    </AuthLayout>
  )
}
