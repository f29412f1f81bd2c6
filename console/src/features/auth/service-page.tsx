import { useSession } from '../../api/session.ts'
import { text } from '../../text/index.ts'
import { AuthLayout } from './auth-layout.tsx'
import { SignedInFooter } from './signed-in-footer.tsx'

/** Tells somebody who signed in as a service member that the console is for people. */
export function ServicePage() {
  const { user } = useSession()
  return (
    <AuthLayout
      title={text.serviceMembers.pageTitle}
      description={<p>{text.serviceMembers.pageDescription(user.name)}</p>}
      footer={<SignedInFooter />}
    />
  )
}
