import { ApiError } from '../../../api/client.ts'
import { Button } from '../../../components/button.tsx'
import { Progress } from '../../../components/progress.tsx'
import { ErrorMessage } from '../../../components/states.tsx'
import { formatBytes } from '../../../format.ts'
import { text } from '../../../text/index.ts'
import type { FileUpload } from './use-file-upload.ts'

const words = text.ownModels

interface UploadProgressProps {
  upload: FileUpload
  onPause: () => void
  onResume: () => void
  onCancel: () => void
}

/** True if another attempt with the same file would fail too. */
function isRefused(error: Error | null): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500
}

/** How much of a file has arrived, with the controls of its upload. */
export function UploadProgress({ upload, onPause, onResume, onCancel }: UploadProgressProps) {
  const { fileName, bytes, sent, status, error } = upload
  return (
    <section aria-label={words.upload} className="grid gap-2 rounded-lg border px-4 py-3">
      <div className="flex flex-wrap items-center gap-2">
        <div className="grid min-w-0 flex-1 gap-0.5">
          <span className="truncate font-medium">{fileName}</span>
          <span className="tabular text-[0.8125rem] text-muted">
            {words.uploadStates[status](formatBytes(sent), formatBytes(bytes))}
          </span>
        </div>
        {status === 'sending' && (
          <Button size="small" onClick={onPause}>
            {words.pause}
          </Button>
        )}
        {(status === 'paused' || (status === 'failed' && !isRefused(error))) && (
          <Button size="small" onClick={onResume}>
            {words.resume}
          </Button>
        )}
        <Button size="small" variant="quiet" onClick={onCancel}>
          {words.otherFile}
        </Button>
      </div>
      <Progress
        value={sent / bytes}
        tone={status === 'failed' ? 'bad' : 'accent'}
        label={words.uploadOf(fileName)}
      />
      <ErrorMessage error={error} />
    </section>
  )
}
