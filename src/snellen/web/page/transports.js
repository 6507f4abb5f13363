/** Storage of answers: each transport has `open`, `append` and `finish` (design/people.md). */
"use strict";

(() => {
  const RETRIES = [0.5, 1, 2, 4]; // seconds before a request is sent again
  const PATIENCE = 20; // seconds until a request counts as failed

  /** The form requested in the address, else `otherwise`, as one of the plan's forms. */
  function chosenForm(plan, wish, otherwise) {
    const number = /^\d+$/.test(wish ?? "") ? Number(wish) : otherwise;
    return number % plan.forms.length;
  }

  /** A random code of a participant, like k7wd-9q2m, without signs that are mistaken for others. */
  function randomCode() {
    const signs = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => "abcdefghjklmnpqrstuvwxyz23456789"[byte % 32]);
    return `${signs.slice(0, 4).join("")}-${signs.slice(4).join("")}`;
  }

  /** `localStorage`, or an error with a remedy. */
  function storage() {
    try {
      localStorage.setItem("snellen/probe", "1");
      localStorage.removeItem("snellen/probe");
      return localStorage;
    } catch {
      throw new Error("This browser keeps nothing for this page. Allow site data, or leave the private window.");
    }
  }

  const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
    let rest = byte;
    for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
    return rest;
  });

  /** A row as a line with its checksum, the CRC-32 of the line without it: `{"sequence":0,"record":{},"sum":"0f3a5b7c"}`. */
  function lineOf({ sequence, record }) {
    const text = JSON.stringify({ sequence, record });
    const sum = new TextEncoder().encode(text).reduce((rest, byte) => (rest >>> 8) ^ CRC[(rest ^ byte) & 255], ~0);
    return `${text.slice(0, -1)},"sum":"${(~sum >>> 0).toString(16).padStart(8, "0")}"}\n`;
  }

  function download(name, text, type = "application/x-ndjson") {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = Snellen.element("a", { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  /** Rows stay in this browser and are downloaded at the end: `PARTICIPANT.jsonl`. Every tab is a new participant. */
  function folder(plan) {
    const home = `snellen/${plan.plan_hash}`;
    const current = `${home}/current`; // in the tab
    let key = "";
    let name = "";
    const read = () => storage().getItem(key) ?? "";
    const save = () => download(`${name.replace(/[^\p{L}\p{M}\p{N}_.-]/gu, "_")}.jsonl`, read());
    const known = (parameters) => parameters.participant || sessionStorage.getItem(current);
    /** The form of a personal address; else the first one of this device, and for later participants the next. */
    const takeForm = (parameters) => {
      if (parameters.participant && parameters.form) return chosenForm(plan, parameters.form);
      const first = parameters.form ?? document.documentElement.dataset.form;
      const form = chosenForm(plan, storage().getItem(`${home}/form`) ?? first, crypto.getRandomValues(new Uint32Array(1))[0]);
      storage().setItem(`${home}/form`, form + 1);
      return form;
    };
    const forget = () => {
      sessionStorage.removeItem(current);
      history.replaceState(null, "", Snellen.addressOf(""));
    };
    return {
      download: save,
      forget,
      stop: async () => (save(), forget()),
      /** Names of those who began on this device and did not finish. */
      unfinished: () => Object.keys(storage()).filter((other) => other.startsWith(`${home}/rows/`) && !/\{"type":"(end|stop)"/.test(storage().getItem(other))).map((other) => other.slice(`${home}/rows/`.length)),
      returns: async (parameters) => storage().getItem(`${home}/rows/${known(parameters)}`) !== null,
      async open(parameters, code) {
        name = known(parameters) || code;
        sessionStorage.setItem(current, name);
        key = `${home}/rows/${name}`;
        const records = read().split("\n").filter(Boolean).map((line) => JSON.parse(line));
        const form = records.length ? records[0].record.form : takeForm(parameters);
        return { participant: name, form, records };
      },
      async append(row) {
        const text = read();
        if (text.split("\n").length !== row.sequence + 1) throw new Conflict();
        storage().setItem(key, text + lineOf(row));
      },
      async finish(rows, back) {
        if (!back) save();
      },
    };
  }

  /** The study continued elsewhere: the row's number is taken by another row. */
  class Conflict extends Error {
    stale = true;
    constructor() {
      super("The study went on in another window.");
    }
  }

  /** A refusal of the server: sending the same request again would not help. */
  class Refusal extends Error {
    constructor(message, status) {
      super(message);
      this.status = status;
    }
  }

  async function detail(response) {
    const text = await response.text();
    try {
      const reason = JSON.parse(text).detail;
      return typeof reason === "string" ? reason : `The server refused (${response.status}).`;
    } catch {
      return `The server refused (${response.status}).`;
    }
  }

  /** Sends a POST with JSON, again after network errors and while the server cannot answer. */
  async function post(path, body, headers = {}) {
    const request = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers } };
    for (let attempt = 0; ; attempt += 1) {
      let trouble = "The server does not answer. Is there a connection?";
      try {
        const response = await fetch(path, { ...request, signal: AbortSignal.timeout(1000 * PATIENCE) });
        if (response.ok) return response.status === 204 ? null : await response.json();
        trouble = await detail(response);
        if (response.status === 409) throw new Conflict();
        if (response.status < 500 && ![408, 429].includes(response.status)) throw new Refusal(trouble, response.status);
      } catch (error) {
        if (error instanceof Refusal || error instanceof Conflict) throw error;
      }
      if (attempt === RETRIES.length) throw new Error(trouble);
      await Snellen.wait(RETRIES[attempt]);
    }
  }

  /**
   * The server of `snellen study serve`. After a reload, its secret identifies the participant; on another device a link
   * of the study leader does, which ends with `#continue=SECRET`. The panel's code comes with the receipt of the end.
   */
  function local(plan) {
    const key = `snellen/${plan.plan_hash}/${location.origin}${location.pathname}${location.search}`;
    let secret = "";
    let completion = {};
    const remembered = () => {
      try {
        return JSON.parse(localStorage.getItem(key) ?? "{}");
      } catch {
        return {};
      }
    };
    const remember = (entry) => {
      try {
        localStorage.setItem(key, JSON.stringify(entry));
      } catch {
        // Without site data the study works, except for returning after a reload.
      }
    };
    const forget = () => remember({});
    const personal = new URLSearchParams(location.hash.slice(1)).get("continue");
    if (personal) history.replaceState(null, "", location.pathname + location.search);
    addEventListener("hashchange", () => location.reload()); // a personal link was opened in this tab
    return {
      /** True if a link of the study leader was opened: consent is asked again, since somebody else may have sent it. */
      personal: Boolean(personal),
      forget,
      stop: async () => forget(),
      returns: async () => Boolean(personal ?? remembered().secret),
      async open(parameters) {
        const known = personal ? { secret: personal } : remembered();
        const body = { parameters };
        const participant = known.participant ?? parameters.participant;
        if (participant) body.participant = participant;
        if (known.secret) body.secret = known.secret;
        else if (plan.texts.consent) body.consented = true; // the page asks before it opens
        const answer = await post("api/open", body).catch((error) => {
          if (personal || !known.secret || error.status !== 403) throw error;
          forget(); // the server was emptied since
          location.reload();
          return new Promise(() => {});
        });
        ({ secret, completion } = answer);
        remember({ participant: answer.participant, secret });
        return answer;
      },
      async append(row) {
        ({ completion } = await post("api/records", row, { "X-Snellen-Secret": secret }));
      },
      finish: async () => completion,
    };
  }

  /** JATOS: rows are appended to the component's result; those of a study run are also in its session. */
  function jatosTransport(plan) {
    const loaded = new Promise((resolve) => jatos.onLoad(resolve));
    let rows = [];
    const close = async () => (jatos.endStudyWithoutRedirect ?? jatos.endStudyAjax).call(jatos);
    const leads = "redirects" in document.documentElement.dataset; // to the panel, by an address that only JATOS knows
    const finish = async () => void (await (leads ? jatos.endStudy() : close()));
    return {
      async returns() {
        await loaded;
        const kept = jatos.studySessionData?.snellen;
        rows = kept?.plan_hash === plan.plan_hash ? kept.rows : [];
        return rows.length > 0;
      },
      async open() {
        const parameters = { ...jatos.urlQueryParameters };
        const number = Number(jatos.studyResultId ?? jatos.workerId ?? 0) || 0;
        const form = rows.length ? rows[0].record.form : chosenForm(plan, parameters.form, number);
        const participant = rows[0]?.record.participant ?? parameters.participant ?? `jatos-${jatos.studyResultId}`;
        return { participant, form, records: [...rows], parameters };
      },
      async append(row) {
        // Appended first, since a row that is only in the session would never be exported. A row sent twice counts once.
        await jatos.appendResultData(lineOf(row));
        rows = [...rows, row];
        jatos.studySessionData = { ...jatos.studySessionData, snellen: { plan_hash: plan.plan_hash, rows } };
        await jatos.setStudySessionData(jatos.studySessionData);
      },
      finish,
      stop: close,
    };
  }

  Snellen.randomCode = randomCode;
  Snellen.transports = { folder, local, jatos: jatosTransport };
  Snellen.download = download;
})();
