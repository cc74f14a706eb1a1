"""nginx in front of a server, with TLS by a certificate authority of its own."""

import subprocess
from pathlib import Path

import servers

CONFIGURATION = """
daemon off;
master_process off;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  ssl_certificate {directory}/server.pem;
  ssl_certificate_key {directory}/server.key;
  client_max_body_size 0;
  proxy_http_version 1.1;
  proxy_set_header Host $http_host;
  proxy_set_header Connection "";
  server {{ listen 127.0.0.1:{buffered} ssl; location / {{ proxy_pass {url}; }} }}
  server {{
    listen 127.0.0.1:{unbuffered} ssl;
    location / {{ proxy_pass {url}; proxy_buffering off; proxy_request_buffering off; }}
  }}
}}
"""


class Nginx:
    """Two addresses: nginx as it comes, which takes a body whole before it asks the server, and one that passes it on."""

    def __init__(self, directory, url):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True)
        self.ports = {"tls": servers.free_port(), "tls-unbuffered": servers.free_port()}
        self.url = url
        self.process = None

    def start(self):
        self.make_certificates()
        file = self.directory / "nginx.conf"
        file.write_text(
            CONFIGURATION.format(
                directory=self.directory, url=self.url, buffered=self.ports["tls"], unbuffered=self.ports["tls-unbuffered"]
            )
        )
        self.process = servers.Process(
            ["/usr/sbin/nginx", "-c", str(file), "-e", str(self.directory / "error.log")],
            self.directory / "nginx.log",
            servers.clean_environment({}),
        )
        self.process.wait_until(lambda: all(servers.accepts(f"127.0.0.1:{port}") for port in self.ports.values()), "nginx")
        return self

    def stop(self):
        self.process.stop()

    def reached(self, way):
        """(URL, file of the certificate authority) of "tls" or "tls-unbuffered"."""
        return f"https://127.0.0.1:{self.ports[way]}", str(self.directory / "ca.pem")

    def make_certificates(self):
        extensions = self.directory / "extensions"
        extensions.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        self.openssl(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=tests' authority",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
        )
        self.openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-keyout", "server.key", "-out", "server.csr"
        )
        self.openssl(
            "x509",
            "-req",
            "-in",
            "server.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "extensions",
            "-out",
            "server.pem",
        )

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.directory, check=True, capture_output=True)
