// A browser starts no Worker for a page that it has opened from the disk. What the search runs in one runs in a hidden
// frame then, which takes and sends the same messages. docs/mkdocs.yml has every page load this.
"use strict"

if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      this.inside = this.frame.contentWindow
      // A document that is written is not replaced when the frame has loaded its empty one.
      this.inside.document.open()
      this.inside.document.write("<!doctype html><body></body>")
      this.inside.document.close()
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = this.inside.document.createElement("script")
      script.src = address
      this.ready = new Promise(resolve => script.addEventListener("load", resolve))
      this.inside.document.body.append(script)
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
