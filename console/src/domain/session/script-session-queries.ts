import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { NewScriptSessionInput, ScriptSession } from '../../contract.ts'
import { callApi } from '../../api/client.ts'

/** Creates a script's session. `onCreated` runs even after the form closed: the cookie comes only once. */
export function useCreateScriptSession(onCreated: (session: ScriptSession) => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: NewScriptSessionInput) => callApi('POST', '/v1/auth/sessions', { body }),
    onSuccess: (session) => {
      onCreated(session)
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
}
