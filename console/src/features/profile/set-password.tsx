import { Button } from '../../components/button.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import type { Profile } from '../../contract.ts'
import { useMailIsFile } from '../../domain/installation.ts'
import { useRequestPasswordReset } from '../../domain/session/sign-in-methods.ts'
import { text } from '../../text/index.ts'

/** Emails a link to set a password, for an account that signs in through a provider. */
export function SetPassword({ profile }: { profile: Profile }) {
  const request = useRequestPasswordReset()
  const isFile = useMailIsFile()
  return (
    <>
      <p role="status">
        {request.isSuccess
          ? isFile
            ? text.profile.linkWritten
            : text.profile.linkSent(profile.email)
          : isFile
            ? text.profile.noMail
            : text.profile.hasNoPassword}
      </p>
      <ErrorMessage error={request.error} />
      {!request.isSuccess && (
        <Button
          className="justify-self-start"
          busy={request.isPending}
          onClick={() => request.mutate(profile.email)}
        >
          {text.profile.setPassword}
        </Button>
      )}
    </>
  )
}
