import { ImagePlus, X } from 'lucide-react'
import { useCallback, useEffect, useRef } from 'react'
import { Button } from '../../components/button.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { conversation, setImages } from './conversation.ts'
import { composerId } from './focus.ts'
import { addImages } from './read-image.ts'
import { useStore } from './store.ts'

/** The images of the unsent message. They are chosen, pasted, or dropped on the message. */
export function ImageDraft() {
  const images = useStore(conversation, (state) => state.images)
  const input = useRef<HTMLInputElement>(null)
  const toasts = useToasts()
  const add = useCallback(
    async (files: readonly File[]) => {
      try {
        const all = await addImages(conversation.get().images, files)
        setImages(() => all)
      } catch {
        toasts.tell('bad', text.images.unreadable)
      }
    },
    [toasts],
  )
  useEffect(() => {
    const composer = document.getElementById(composerId)?.parentElement
    const take = (event: Event, data: DataTransfer | null) => {
      const files = [...(data?.files ?? [])]
      if (files.length === 0) return
      event.preventDefault()
      void add(files)
    }
    const onPaste = (event: ClipboardEvent) => take(event, event.clipboardData)
    const onDrop = (event: DragEvent) => take(event, event.dataTransfer)
    // Without this, the browser opens the file.
    const onDragOver = (event: DragEvent) => event.preventDefault()
    composer?.addEventListener('paste', onPaste)
    composer?.addEventListener('drop', onDrop)
    composer?.addEventListener('dragover', onDragOver)
    return () => {
      composer?.removeEventListener('paste', onPaste)
      composer?.removeEventListener('drop', onDrop)
      composer?.removeEventListener('dragover', onDragOver)
    }
  }, [add])
  return (
    <>
      <input
        ref={input}
        type="file"
        accept="image/*"
        multiple
        hidden
        aria-label={text.images.choose}
        onChange={({ target }) => {
          void add([...(target.files ?? [])])
          target.value = ''
        }}
      />
      <Button
        variant="quiet"
        size="tiny"
        aria-label={text.images.add}
        title={text.images.hint}
        onClick={() => input.current?.click()}
      >
        <ImagePlus />
      </Button>
      <ul className="flex gap-2 empty:hidden">
        {images.map((url, place) => (
          <li key={place} className="relative">
            <img
              src={url}
              alt={text.images.nth(place + 1)}
              className="size-9 rounded-md border object-cover"
            />
            <Button
              variant="secondary"
              size="tiny"
              className="absolute -top-2 -right-2 size-5! rounded-full!"
              aria-label={text.images.remove(place + 1)}
              onClick={() => setImages((known) => known.toSpliced(place, 1))}
            >
              <X />
            </Button>
          </li>
        ))}
      </ul>
    </>
  )
}
