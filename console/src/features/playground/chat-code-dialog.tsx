import { text } from '../../text/index.ts'
import { previewRequest } from './asking.ts'
import { ViewCodeDialog } from './view-code-dialog.tsx'

interface ChatCodeDialogProps {
  deploymentId: string
  /** What samples call instead of the deployment's id */
  model: string | undefined
  onClose: () => void
}

/** The next request of the chat as code. */
export function ChatCodeDialog({ deploymentId, model, onClose }: ChatCodeDialogProps) {
  const body = previewRequest(deploymentId, text.requestCode.exampleMessage)
  return (
    <ViewCodeDialog onClose={onClose} kind="chat" body={{ ...body, ...(model !== undefined && { model }) }} />
  )
}
