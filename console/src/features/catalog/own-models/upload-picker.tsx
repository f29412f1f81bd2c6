import { Upload, X } from 'lucide-react'
import { useId, useState } from 'react'
import { classNames } from '../../../class-names.ts'
import { Button } from '../../../components/button.tsx'
import { ErrorMessage } from '../../../components/states.tsx'
import type { ModelUpload } from '../../../contract.ts'
import { formatBytes } from '../../../format.ts'
import { text } from '../../../text/index.ts'
import { useDeleteUpload } from './queries.ts'

const words = text.ownModels

interface UploadPickerProps {
  /** The uploads that are no model yet */
  uploads: readonly ModelUpload[]
  onFile: (file: File) => void
  onContinue: (upload: ModelUpload) => void
}

/** Takes a dropped or chosen file, and lists the uploads that can go on. */
export function UploadPicker({ uploads, onFile, onContinue }: UploadPickerProps) {
  const id = useId()
  const [isOver, setIsOver] = useState(false)
  return (
    <section aria-label={words.upload} className="grid gap-3">
      <div
        className={classNames(
          'grid justify-items-center gap-2 rounded-lg border border-dashed px-4 py-6 text-center',
          isOver ? 'border-accent bg-subtle' : 'border-line-strong/70',
        )}
        onDragOver={(event) => {
          event.preventDefault()
          setIsOver(true)
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={(event) => {
          event.preventDefault()
          setIsOver(false)
          const file = event.dataTransfer.files[0]
          if (file !== undefined) onFile(file)
        }}
      >
        <Upload aria-hidden className="size-5 text-muted" />
        <p>
          {words.drop}{' '}
          <label
            htmlFor={id}
            className="cursor-pointer rounded-sm font-medium text-accent underline has-focus-visible:outline-2"
          >
            {words.choose}
            <input
              id={id}
              type="file"
              accept=".gguf"
              className="sr-only"
              onChange={(event) => {
                const file = event.target.files?.[0]
                if (file !== undefined) onFile(file)
              }}
            />
          </label>
        </p>
        <p className="text-[0.8125rem] text-muted">{words.uploadHint}</p>
      </div>
      {uploads.length > 0 && (
        <ul aria-label={words.openUploads} className="divide-y rounded-lg border">
          {uploads.map((upload) => (
            <OpenUpload key={upload.id} upload={upload} onContinue={() => onContinue(upload)} />
          ))}
        </ul>
      )}
    </section>
  )
}

function OpenUpload({ upload, onContinue }: { upload: ModelUpload; onContinue: () => void }) {
  const deletion = useDeleteUpload()
  const { id, file_name: name, bytes, received, status } = upload
  return (
    <li className="grid gap-1 px-4 py-2.5">
      <div className="flex items-center gap-3">
        <div className="grid min-w-0 flex-1 gap-0.5">
          <span className="truncate font-medium">{name}</span>
          <span className="text-[0.8125rem] text-muted">
            {status === 'complete'
              ? words.uploadComplete(formatBytes(bytes))
              : words.uploadOpen(formatBytes(received), formatBytes(bytes))}
          </span>
        </div>
        {status === 'complete' && (
          <Button size="small" onClick={onContinue}>
            {words.goOn}
          </Button>
        )}
        <Button
          size="small"
          variant="quiet"
          aria-label={words.deleteUpload(name)}
          busy={deletion.isPending}
          onClick={() => deletion.mutate(id)}
        >
          <X />
        </Button>
      </div>
      <ErrorMessage error={deletion.error} />
    </li>
  )
}
