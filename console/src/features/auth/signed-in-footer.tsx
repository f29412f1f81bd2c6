import { useSession } from '../../api/session.ts'
import { useSignOut } from '../../domain/session/sign-out.ts'
import { text } from '../../text/index.ts'
import { authLink } from './auth-layout.tsx'

/** The footer of auth pages for a signed-in person: the email and a way to sign out. */
export function SignedInFooter() {
  const { user } = useSession()
  const signOut = useSignOut()
  return (
    <span>
      {text.auth.signedInAs(user.email)}{' '}
      <button type="button" className={authLink} onClick={() => signOut.mutate()}>
        {text.shell.signOut}
      </button>
    </span>
  )
}
